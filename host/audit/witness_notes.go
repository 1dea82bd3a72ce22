package audit

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"
)

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
