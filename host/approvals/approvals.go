// Package approvals keeps the calls that wait for a person's yes: one file each below the instance root, which whoever
// may read it shows and answers, by a file beside it. A call waits as long as its process holds the file's lock, so one
// whose process has died is none. An answer names the exact call, and is taken once.
//
// It must not know why a call is asked about, nor what becomes of it.
package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/owner"
)

// Call is what a person decides on.
type Call struct {
	Tool      string          `json:"tool"` // full name
	Arguments json.RawMessage `json:"arguments"`
	Agent     string          `json:"agent"`
	Session   string          `json:"session"`
	Origin    string          `json:"origin"`
	Rule      string          `json:"rule"` // why it is asked
	Reason    string          `json:"reason"`
	Setting   string          `json:"setting,omitempty"` // what would allow it from then on, in a clause
}

// Waiting is a call that waits.
type Waiting struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when it is refused
	Call
	Nonce string `json:"nonce"` // so that no answer fits another call

	digest string // of the file, which is all that a person is shown
}

// Digest is what tells this exact call from any other.
func (w *Waiting) Digest() string { return w.digest }

// Answer is what somebody has said.
type Answer struct {
	Yes  bool      `json:"yes"`
	By   string    `json:"by"`  // the user
	Way  string    `json:"way"` // cli or console
	Time time.Time `json:"time"`
	Why  string    `json:"why,omitempty"`

	Digest string `json:"digest"` // of the call that was shown
}

// The files of a call that waits, below the instance root.
const (
	dirName     = "approvals"
	callSuffix  = ".json"
	answerEnd   = ".answer"
	makingEnd   = ".new"
	leftOver    = time.Minute // after which what nobody has finished is removed
	mostFile    = 1 << 20     // of a call: nobody reads more, and all of them are read to list them
	mostWaiting = 64          // calls of one agent at a time, in one process
)

var (
	// ErrGone is the error for a call that does not wait, or not any more.
	ErrGone = errors.New("no such call waits any more; `picoclaw approvals` lists those that do")
	// ErrSilent is the error for a call whose process takes no answer.
	ErrSilent = errors.New("the picoclaw that holds the call does not take the answer: it hangs or is paused; let it go on " +
		"with `kill -CONT`, and answer again")
	// ErrAnswered is the error for a call that somebody else has answered.
	ErrAnswered = errors.New("the call was answered already")
)

var validID = lazyregexp.New(`^[a-z2-7]{8}$`)

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

func path(home, id, suffix string) string { return filepath.Join(home, dirName, id+suffix) }

// List returns the calls that wait on an instance root, the oldest first. It removes what processes that died
// have left.
func List(home string) ([]*Waiting, error) {
	entries, err := os.ReadDir(filepath.Join(home, dirName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*Waiting
	for _, entry := range entries {
		id, is := strings.CutSuffix(entry.Name(), callSuffix)
		if !is || !validID().MatchString(id) {
			sweep(home, entry)
			continue
		}
		w, err := Find(home, id)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *Waiting) int { return a.Since.Compare(b.Since) })
	return all, nil
}

// sweep removes what a process has left that died in the middle of something.
func sweep(home string, entry fs.DirEntry) {
	info, err := entry.Info()
	if err != nil || time.Since(info.ModTime()) < leftOver {
		return
	}
	if id, is := strings.CutSuffix(entry.Name(), answerEnd); is {
		if _, err := os.Lstat(path(home, id, callSuffix)); err == nil {
			return // its call is there, and will see it
		}
	}
	_ = os.Remove(filepath.Join(home, dirName, entry.Name()))
}

// Find returns a call that waits; ErrGone for one that does not.
func Find(home, id string) (*Waiting, error) {
	if !validID().MatchString(id) {
		return nil, ErrGone
	}
	name := path(home, id, callSuffix)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	switch err := filelock.Lock(file); {
	case err == nil: // whoever waited has died
		_ = os.Remove(path(home, id, answerEnd))
		_ = os.Remove(name)
		return nil, ErrGone
	case !errors.Is(err, filelock.ErrLocked):
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostFile))
	w := &Waiting{digest: digest(text)}
	if err = errors.Join(err, json.Unmarshal(text, w)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if w.ID != id {
		return nil, fmt.Errorf("%s is of another call", name)
	}
	return w, nil
}

// taking is how long a process that waits may take to see an answer.
const taking = 2 * time.Second

// Give answers a call as it was shown, and returns when whoever waits has taken the answer.
func Give(home string, w *Waiting, a Answer) error {
	a.Digest = w.digest
	if _, err := Find(home, w.ID); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	making, err := os.CreateTemp(filepath.Join(home, dirName), "*"+makingEnd)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(making.Name()) }()
	_, err = making.Write(text)
	if err := errors.Join(err, making.Close()); err != nil {
		return err
	}
	if err := owner.Give(home, making.Name()); err != nil {
		return err
	}
	answer := path(home, w.ID, answerEnd)
	if err := os.Link(making.Name(), answer); errors.Is(err, fs.ErrExist) { // only the first answer counts
		return ErrAnswered
	} else if err != nil {
		return err
	}
	for end := time.Now().Add(taking); time.Now().Before(end); time.Sleep(interval / 4) {
		if _, err := os.Lstat(answer); errors.Is(err, fs.ErrNotExist) {
			return nil // it was taken
		}
		if _, err := os.Lstat(path(home, w.ID, callSuffix)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	// Whoever takes an answer removes it: what can still be removed here was not taken.
	if err := os.Remove(answer); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := Find(home, w.ID); err == nil {
		return ErrSilent
	}
	return ErrGone
}
