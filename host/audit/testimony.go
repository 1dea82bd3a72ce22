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

// Notes are what a witness was told.
type Notes struct {
	All    []Note
	Unread int // lines that are no notes
}

const (
	maxNote  = 64 << 10 // the longest line that is read
	maxNotes = 1 << 20
)

// ReadNotes reads what a witness was told: the lines of a file, or of the answer to a GET of a URL.
func ReadNotes(ctx context.Context, from string) (*Notes, error) {
	if !isURL(from) {
		f, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("read the witness: %w", err)
		}
		defer func() { _ = f.Close() }()
		return parseNotes(f)
	}
	client := http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("read the witness: %w", withoutQuery(err))
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the witness: %w", withoutQuery(err))
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the witness: %s answers %s", request.URL.Host, answer.Status)
	}
	return parseNotes(answer.Body)
}

// parseNotes reads notes, one a line. What is none is counted.
func parseNotes(r io.Reader) (*Notes, error) {
	notes := &Notes{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxNote)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var n Note
		if json.Unmarshal(lines.Bytes(), &n) != nil || !isSum(n.Chain) || !isSum(n.Head) || n.Count < 1 {
			notes.Unread++
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

func isSum(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == chainLength
}

// The verdicts of a [Testimony].
const (
	Matches = "matches"
	Cut     = "cut"     // the log ends before what the witness has seen
	Changed = "changed" // a record is not the one that the witness has seen
	Other   = "other"   // the witness has seen another log, or this one before it was begun anew
	Unseen  = "unseen"  // the witness has seen nothing
)

// Testimony is what a witness says of a log.
type Testimony struct {
	Verdict string `json:"verdict"`
	Notes   int    `json:"notes"`
	Checked int    `json:"checked"`          // of them, those whose records are still there, and are the same
	Unread  int    `json:"unread,omitempty"` // lines of the witness that are no notes
	Count   int    `json:"count"`            // of the chain's records, with those whose files are gone
	Note    *Note  `json:"note,omitempty"`   // that decides, or the latest
	Why     string `json:"why"`
}

// place is a record's in a log.
type place struct {
	chain string
	count int
}

// Verify is like the function [Verify], and compares the log with the notes. They have to be read before, as the log
// grows meanwhile.
func (n *Notes) Verify(path, wanted string) (*Verified, *Testimony, error) {
	noted := map[place][]*Note{}
	for i := range n.All {
		at := place{n.All[i].Chain, n.All[i].Count}
		noted[at] = append(noted[at], &n.All[i])
	}
	t := &Testimony{Notes: len(n.All), Unread: n.Unread}
	var differs *Note
	counts := map[string]int{} // of the log's chains; there is one, unless picoclaw was old when the log was begun
	v := &verifier{wanted: chain(wanted), each: func(at position) {
		t.Count = at.count
		counts[string(at.begins)] = at.count
		for _, note := range noted[place{string(at.begins), at.count}] {
			switch {
			case note.Head == string(at.head):
				t.Checked++
			case differs == nil:
				differs = note
			}
		}
	}}
	found, err := v.log(path)
	if errors.Is(err, fs.ErrNotExist) {
		found, err = &Verified{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	t.decide(n.All, counts, differs)
	return found, t, nil
}

// decide compares the notes with how far the chains of a log have come.
func (t *Testimony) decide(notes []Note, counts map[string]int, differs *Note) {
	furthest := func(of func(Note) bool) *Note {
		var far *Note
		for i, note := range notes {
			if of(note) && (far == nil || note.Count > far.Count) {
				far = &notes[i]
			}
		}
		return far
	}
	beyond := furthest(func(n Note) bool { c, ok := counts[n.Chain]; return ok && n.Count > c })
	other := furthest(func(n Note) bool { _, ok := counts[n.Chain]; return !ok })
	seen := func(n *Note) string { return n.Time.Local().Format("2006-01-02 15:04:05") }
	switch {
	case differs != nil:
		t.Verdict, t.Note = Changed, differs
		t.Why = fmt.Sprintf("record %d is not the one that the witness has seen at %s: the log was written anew",
			differs.Count, seen(differs))
	case beyond != nil:
		t.Verdict, t.Note = Cut, beyond
		t.Why = fmt.Sprintf("it ends at record %d, and the witness has seen %d at %s: the last were removed",
			counts[beyond.Chain], beyond.Count, seen(beyond))
	case other != nil && len(counts) == 0:
		t.Verdict, t.Note = Cut, other
		t.Why = fmt.Sprintf("it has no record, and the witness has seen %d at %s: all were removed", other.Count,
			seen(other))
	case other != nil:
		t.Verdict, t.Note = Other, other
		t.Why = fmt.Sprintf("the witness has seen %d records of another chain at %s: the log was removed and begun anew, "+
			"or the witness is another log's too; each needs its own", other.Count, seen(other))
	case len(notes) == 0 && len(counts) > 0:
		t.Verdict, t.Why = Unseen, "the witness has seen no record"
	default:
		t.Verdict, t.Why = Matches, "the log has what the witness has seen"
		if len(notes) > 0 {
			latest := slices.MaxFunc(notes, func(a, b Note) int { return a.Count - b.Count })
			t.Note = &latest
		}
	}
}
