package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
