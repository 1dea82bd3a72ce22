// Package approvals stores calls that wait for approval, as files in the home. Users with access to the home list and
// answer them. A call waits while its process holds a lock on its file; files of dead processes are ignored. An answer
// applies to one exact call, once.
//
// It must not know why approval is needed, nor what happens with the call.
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

// Call is a call that needs a person's approval.
type Call struct {
	Tool      string          `json:"tool"` // full name
	Arguments json.RawMessage `json:"arguments"`
	Agent     string          `json:"agent"`
	Session   string          `json:"session"`
	Origin    string          `json:"origin"`
	Rule      string          `json:"rule"` // why approval is needed
	Reason    string          `json:"reason"`
	Setting   string          `json:"setting,omitempty"` // setting that would allow it in future, as a clause
}

// WaitingCall is a call that waits for a person's answer.
type WaitingCall struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when it is refused
	Call
	Nonce string `json:"nonce"` // so that no answer fits another call

	digest string // of the shown file
}

// Digest returns the hash of the call's file, which identifies this exact call.
func (w *WaitingCall) Digest() string { return w.digest }

// Answer is a person's answer to an approval request.
type Answer struct {
	Yes  bool      `json:"yes"`
	By   string    `json:"by"`  // user
	Way  string    `json:"way"` // cli or console
	Time time.Time `json:"time"`
	Why  string    `json:"why,omitempty"`

	Digest string `json:"digest"` // of the shown call
}

// Files and limits of waiting calls.
const (
	dirName      = "approvals"
	callSuffix   = ".json"
	answerSuffix = ".answer"
	tempSuffix   = ".new"
	staleAfter   = time.Minute // age after which unfinished files are removed
	maxFileBytes = 1 << 20     // of a call; larger files are not read
	maxWaiting   = 64          // calls of one agent in one process
)

var (
	// ErrNotWaiting is the error of a call that does not wait, or no longer.
	ErrNotWaiting = errors.New("no such call is waiting; `picoclaw approvals` lists waiting calls")
	// ErrNotTaken is the error of a call whose process does not read the answer.
	ErrNotTaken = errors.New("the picoclaw process of the call does not answer: it hangs or is paused; resume it " +
		"with `kill -CONT`, and repeat your answer")
	// ErrAnswered is the error of a call that was answered already.
	ErrAnswered = errors.New("the call was answered already")
)

var validID = lazyregexp.New(`^[a-z2-7]{8}$`)

func hashText(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

func approvalFilePath(home, id, suffix string) string { return filepath.Join(home, dirName, id+suffix) }

// ListWaitingCalls returns the waiting calls of a home, the oldest first. It removes the files of dead processes.
func ListWaitingCalls(home string) ([]*WaitingCall, error) {
	entries, err := os.ReadDir(filepath.Join(home, dirName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*WaitingCall
	for _, entry := range entries {
		id, is := strings.CutSuffix(entry.Name(), callSuffix)
		if !is || !validID().MatchString(id) {
			removeStaleFile(home, entry)
			continue
		}
		w, err := FindWaitingCall(home, id)
		if errors.Is(err, ErrNotWaiting) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *WaitingCall) int { return a.Since.Compare(b.Since) })
	return all, nil
}

// removeStaleFile removes an unfinished file of a dead process.
func removeStaleFile(home string, entry fs.DirEntry) {
	info, err := entry.Info()
	if err != nil || time.Since(info.ModTime()) < staleAfter {
		return
	}
	if id, is := strings.CutSuffix(entry.Name(), answerSuffix); is {
		if _, err := os.Lstat(approvalFilePath(home, id, callSuffix)); err == nil {
			return // its call still waits
		}
	}
	_ = os.Remove(filepath.Join(home, dirName, entry.Name()))
}

// FindWaitingCall returns a waiting call, or ErrNotWaiting.
func FindWaitingCall(home, id string) (*WaitingCall, error) {
	if !validID().MatchString(id) {
		return nil, ErrNotWaiting
	}
	name := approvalFilePath(home, id, callSuffix)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotWaiting
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	switch lockErr := filelock.Lock(file); {
	case lockErr == nil: // its process has died
		_ = os.Remove(approvalFilePath(home, id, answerSuffix))
		_ = os.Remove(name)
		return nil, ErrNotWaiting
	case !errors.Is(lockErr, filelock.ErrLocked):
		return nil, lockErr
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	w := &WaitingCall{digest: hashText(text)}
	if err = errors.Join(err, json.Unmarshal(text, w)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if w.ID != id {
		return nil, fmt.Errorf("%s belongs to another call", name)
	}
	return w, nil
}

// takeTimeout is the time for a waiting process to read an answer.
const takeTimeout = 2 * time.Second

// AnswerCall answers a call that was shown to the person. It returns when the call's process has read the answer.
func AnswerCall(home string, w *WaitingCall, a Answer) error {
	a.Digest = w.digest
	if _, err := FindWaitingCall(home, w.ID); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	making, err := os.CreateTemp(filepath.Join(home, dirName), "*"+tempSuffix)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(making.Name()) }()
	_, err = making.Write(text)
	if err = errors.Join(err, making.Close()); err != nil {
		return err
	}
	if err := owner.GiveToHomeOwner(home, making.Name()); err != nil {
		return err
	}
	answer := approvalFilePath(home, w.ID, answerSuffix)
	if err := os.Link(making.Name(), answer); errors.Is(err, fs.ErrExist) { // the first answer wins
		return ErrAnswered
	} else if err != nil {
		return err
	}
	for end := time.Now().Add(takeTimeout); time.Now().Before(end); time.Sleep(pollInterval / 4) {
		if _, err := os.Lstat(answer); errors.Is(err, fs.ErrNotExist) {
			return nil // it was read
		}
		if _, err := os.Lstat(approvalFilePath(home, w.ID, callSuffix)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	// The reader removes the answer: if it still exists, nobody read it.
	if err := os.Remove(answer); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := FindWaitingCall(home, w.ID); err == nil {
		return ErrNotTaken
	}
	return ErrNotWaiting
}
