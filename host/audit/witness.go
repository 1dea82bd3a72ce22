package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// WitnessNote is the position of a log's chain, which is sent to a witness. Count and head cover the entries of all
// processes.
type WitnessNote struct {
	Chain string    `json:"chain"` // hash of the chain's first entry
	Count int       `json:"count"` // entries, including those in deleted files
	Head  string    `json:"head"`  // hash of the last entry
	Time  time.Time `json:"time"`
}

// WitnessOptions configure a [WitnessSender].
type WitnessOptions struct {
	To        string        // file path, or http or https URL; may be empty
	Records   int           // send after this number of this process's entries
	Interval  time.Duration // and after this time, if there are new entries
	OnFailure func(error)   // receives the first error of a series

	// Send, if not nil, sends each note, a line of JSON, to a second receiver.
	Send func(ctx context.Context, note []byte) error
}

const (
	sendTimeout  = 10 * time.Second // for one note to a URL
	closeTimeout = time.Second      // for the last note
)

// WitnessSender sends the chain position of a log to a witness: a file or URL elsewhere. It reads the log in the
// background, so that calls do not wait for it. After a failure it sends only the latest position, which covers the
// earlier ones.
type WitnessSender struct {
	path    string
	options WitnessOptions
	client  http.Client

	written atomic.Int64 // entries written by this process
	due     chan struct{}
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	cancel  context.CancelFunc

	// value of written at the last note
	reported int64
	failed   bool
	file     *os.File // read last; open, so that no other file gets its inode
	size     int64    // bytes read
	position chainPosition
}

// StartWitnessSender starts a sender, which tells a witness the length and hash of the log at a path. Call
// [WitnessSender.Close] at the end.
func StartWitnessSender(path string, options WitnessOptions) *WitnessSender {
	ctx, cancel := context.WithCancel(context.Background())
	w := &WitnessSender{path: path, options: options, client: http.Client{Timeout: sendTimeout},
		due: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	go w.sendUntilClosed(ctx)
	return w
}

// CountEntry counts an entry that this process has written. It does not block.
func (w *WitnessSender) CountEntry() {
	if w == nil || w.written.Add(1)%int64(max(w.options.Records, 1)) != 0 {
		return
	}
	select {
	case w.due <- struct{}{}:
	default: // the pending read covers this entry
	}
}

// Close sends the last note, within closeTimeout, and stops the sender.
func (w *WitnessSender) Close() {
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.closing) })
	timeout := time.AfterFunc(closeTimeout, w.cancel)
	defer timeout.Stop()
	defer w.cancel()
	select {
	case <-w.done:
	case <-time.After(2 * closeTimeout): // a blocked file system can't be interrupted
	}
}

func (w *WitnessSender) sendUntilClosed(ctx context.Context) {
	defer close(w.done)
	defer func() { _ = w.file.Close() }()
	defer w.client.CloseIdleConnections()
	tick := time.NewTicker(w.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-w.due:
		case <-tick.C:
		case <-w.closing:
			w.sendNote(ctx)
			return
		}
		w.sendNote(ctx)
	}
}

// sendNote sends the log's position if this process has written entries since the last note.
func (w *WitnessSender) sendNote(ctx context.Context) {
	wrote := w.written.Load()
	if wrote == w.reported {
		return
	}
	err := w.readNewLines()
	if err == nil && w.position.count == 0 {
		return
	}
	if err == nil {
		at := w.position
		err = w.sendToReceivers(ctx, WitnessNote{Chain: string(at.first), Count: at.count, Head: string(at.head), Time: time.Now().UTC()})
	}
	if err == nil {
		w.reported, w.failed = wrote, false
		return
	}
	if !w.failed {
		w.failed = true
		w.options.OnFailure(fmt.Errorf("the audit log's witness was not updated: %w", err))
	}
}

// readNewLines reads the lines that were added to the log since the last call, and advances the chain position by them.
// It reads the log from the start if the file was replaced or cut. It does nothing if the log is no regular file.
func (w *WitnessSender) readNewLines() error {
	info, err := os.Stat(w.path)
	if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, info, err := openCurrentUnderLock(w.path)
	if err != nil {
		return err
	}
	if last, statErr := w.file.Stat(); statErr != nil || !os.SameFile(last, info) || info.Size() < w.size { // or no file was read
		w.size, w.position = 0, chainPosition{}
	}
	_ = w.file.Close()
	w.file = f
	read, err := w.position.addFileLines(io.NewSectionReader(f, w.size, info.Size()-w.size))
	w.size += read
	return err
}

// openCurrentUnderLock opens the current file and gets its size under a lock, while no process writes or rotates.
func openCurrentUnderLock(path string) (f *os.File, info os.FileInfo, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	err = withSharedDirLock(dir, func() error {
		if f, err = os.Open(path); err == nil {
			info, err = f.Stat()
		}
		return err
	})
	if err != nil && f != nil {
		_ = f.Close()
	}
	return f, info, err
}

// sendToReceivers sends a note to both receivers: the function Send and the witness.
func (w *WitnessSender) sendToReceivers(ctx context.Context, n WitnessNote) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if w.options.Send != nil {
		sending, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		err = w.options.Send(sending, line)
	}
	if w.options.To == "" {
		return err
	}
	return errors.Join(err, w.writeToWitness(ctx, line))
}

// writeToWitness appends a line to the witness's file, or posts it to the witness's URL.
func (w *WitnessSender) writeToWitness(ctx context.Context, line []byte) error {
	if !isHTTPURL(w.options.To) {
		return appendLineToFile(w.options.To, line)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.options.To, bytes.NewReader(line))
	if err != nil {
		return redactErrorURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(request)
	if err != nil {
		return redactErrorURL(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 4096) // to reuse the connection
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", request.URL.Host, answer.Status)
	}
	return nil
}

// appendLineToFile appends a line to a file in one write, since other processes append too.
func appendLineToFile(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = ignoreUnsupportedSyncError(f.Sync())
	}
	return errors.Join(err, f.Close())
}

func isHTTPURL(to string) bool {
	return strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "https://")
}

// redactErrorURL removes user and query, which may contain secrets, from the URL in an error.
func redactErrorURL(err error) error {
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		if at, parsed := url.Parse(wrong.URL); parsed == nil {
			return fmt.Errorf("%s %s: %w", wrong.Op, at.Host, wrong.Err)
		}
		return wrong.Err
	}
	return err
}

// WitnessNotes are the notes that a witness has received about a log.
type WitnessNotes struct {
	All     []WitnessNote
	Invalid int // lines that are no notes
}

const (
	maxNote  = 64 << 10 // maximum length of a line
	maxNotes = 1 << 20
)

// ReadWitnessNotes reads the notes of a witness, one per line, from a file or from the response to a GET request.
func ReadWitnessNotes(ctx context.Context, from string) (*WitnessNotes, error) {
	if !isHTTPURL(from) {
		f, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("read the witness: %w", err)
		}
		defer func() { _ = f.Close() }()
		return parseWitnessNotes(f)
	}
	client := http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("read the witness: %w", redactErrorURL(err))
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the witness: %w", redactErrorURL(err))
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the witness: %s answers %s", request.URL.Host, answer.Status)
	}
	return parseWitnessNotes(answer.Body)
}

// parseWitnessNotes parses notes, one per line. It counts invalid lines.
func parseWitnessNotes(r io.Reader) (*WitnessNotes, error) {
	notes := &WitnessNotes{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxNote)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var n WitnessNote
		if json.Unmarshal(lines.Bytes(), &n) != nil || !isChainHash(n.Chain) || !isChainHash(n.Head) || n.Count < 1 {
			notes.Invalid++
			continue
		}
		if len(notes.All) == maxNotes {
			return nil, fmt.Errorf("read the witness: it has more than %d notes; keep the latest of them", maxNotes)
		}
		notes.All = append(notes.All, n)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the witness: %w", err)
	}
	return notes, nil
}

func isChainHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == chainLength
}

// Verdicts of a [WitnessReport].
const (
	LogMatches = "matches"
	LogCut     = "cut"     // the log ends before the latest note
	LogChanged = "changed" // an entry differs from its note
	OtherLog   = "other"   // the notes are of another log, or of this one before it was recreated
	NoNotes    = "unseen"  // the witness has no notes
)

// WitnessReport is the result of a comparison of a log with its witness's notes.
type WitnessReport struct {
	Verdict string       `json:"verdict"`
	Notes   int          `json:"notes"`
	Checked int          `json:"checked"`          // notes whose entries still exist and match
	Invalid int          `json:"unread,omitempty"` // lines of the witness that are no notes
	Count   int          `json:"count"`            // entries in the chain, including those in deleted files
	Note    *WitnessNote `json:"note,omitempty"`   // deciding note, or the latest
	Why     string       `json:"why"`
}

// recordPosition identifies an entry by its chain's id and its number in the chain.
type recordPosition struct {
	chain string
	count int
}

// VerifyLog verifies a log, as the function [VerifyLog] does, and compares it with the notes. Read the notes before,
// since the log grows meanwhile.
func (n *WitnessNotes) VerifyLog(path, wanted string) (*VerifyResult, *WitnessReport, error) {
	noted := map[recordPosition][]*WitnessNote{}
	for i := range n.All {
		at := recordPosition{n.All[i].Chain, n.All[i].Count}
		noted[at] = append(noted[at], &n.All[i])
	}
	t := &WitnessReport{Notes: len(n.All), Invalid: n.Invalid}
	var differs *WitnessNote
	counts := map[string]int{} // by chain; logs of old versions have several
	v := &chainVerifier{wanted: chainHash(wanted), each: func(at chainPosition) {
		t.Count = at.count
		counts[string(at.first)] = at.count
		for _, note := range noted[recordPosition{string(at.first), at.count}] {
			switch {
			case note.Head == string(at.head):
				t.Checked++
			case differs == nil:
				differs = note
			}
		}
	}}
	found, err := v.verifyLog(path)
	if errors.Is(err, fs.ErrNotExist) {
		found, err = &VerifyResult{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	t.setVerdict(n.All, counts, differs)
	return found, t, nil
}

// setVerdict sets the verdict from the notes and the positions of the log's chains. differs is a note that contradicts
// the log; nil for none.
func (t *WitnessReport) setVerdict(notes []WitnessNote, counts map[string]int, differs *WitnessNote) {
	furthest := func(of func(WitnessNote) bool) *WitnessNote {
		var far *WitnessNote
		for i, note := range notes {
			if of(note) && (far == nil || note.Count > far.Count) {
				far = &notes[i]
			}
		}
		return far
	}
	beyond := furthest(func(n WitnessNote) bool { c, ok := counts[n.Chain]; return ok && n.Count > c })
	other := furthest(func(n WitnessNote) bool { _, ok := counts[n.Chain]; return !ok })
	seen := func(n *WitnessNote) string { return n.Time.Local().Format("2006-01-02 15:04:05") }
	switch {
	case differs != nil:
		t.Verdict, t.Note = LogChanged, differs
		t.Why = fmt.Sprintf("entry %d differs from the entry the witness received at %s: the log was rewritten",
			differs.Count, seen(differs))
	case beyond != nil:
		t.Verdict, t.Note = LogCut, beyond
		t.Why = fmt.Sprintf("it ends at entry %d, but the witness received %d at %s: the last entries were removed",
			counts[beyond.Chain], beyond.Count, seen(beyond))
	case other != nil && len(counts) == 0:
		t.Verdict, t.Note = LogCut, other
		t.Why = fmt.Sprintf("it has no entries, but the witness received %d at %s: all were removed", other.Count,
			seen(other))
	case other != nil:
		t.Verdict, t.Note = OtherLog, other
		t.Why = fmt.Sprintf("the witness received %d entries of another chain at %s: the log was removed and recreated, "+
			"or the witness also serves another log; each log needs its own", other.Count, seen(other))
	case len(notes) == 0 && len(counts) > 0:
		t.Verdict, t.Why = NoNotes, "the witness has received no entry"
	default:
		t.Verdict, t.Why = LogMatches, "the log has every entry that the witness received"
		if len(notes) > 0 {
			latest := slices.MaxFunc(notes, func(a, b WitnessNote) int { return a.Count - b.Count })
			t.Note = &latest
		}
	}
}
