// Package statefiles lists the state files of a home that can't be recreated, in <home>/files.json. The list
// distinguishes a missing file from one that never existed. The package must not know the contents of the files.
package statefiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/owner"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

const (
	listName = "files.json"
	maxBytes = 16 << 20
)

// stateFileList is the content of files.json. Paths are relative to the home and slash-separated.
type stateFileList struct {
	Files []string `json:"files"`
}

// MissingFileError is the error for a listed file that is missing or empty.
type MissingFileError struct{ Path, List string }

func (e *MissingFileError) Error() string {
	return fmt.Sprintf("%s is missing or empty; restore a copy, or remove its line from %s", e.Path, e.List)
}

// AddToList adds a file to the list of a home. It ignores a file outside the home.
func AddToList(home, path string) error {
	return updateList(home, path, func(l *stateFileList, name string) { l.Files = append(l.Files, name) }, false)
}

// RemoveFromList removes a deliberately deleted file from the list.
func RemoveFromList(home, path string) error {
	return updateList(home, path, func(l *stateFileList, name string) {
		l.Files = slices.DeleteFunc(l.Files, func(other string) bool { return other == name })
	}, true)
}

// updateList locks the list and changes it. It does nothing if the presence of the file in the list differs from
// listed.
func updateList(home, path string, change func(*stateFileList, string), listed bool) error {
	name, err := relativeName(home, path)
	if err != nil || name == "" {
		return err
	}
	if l, readErr := readList(home); readErr != nil || slices.Contains(l.Files, name) != listed {
		return readErr
	}
	lock, err := filelock.OpenLocked(filepath.Join(home, "."+listName+".lock"), filelock.LockWaiting)
	if err != nil {
		return fmt.Errorf("lock the list of state files: %w", err)
	}
	defer func() { _ = lock.Close() }()
	l, err := readList(home)
	if err != nil || slices.Contains(l.Files, name) != listed {
		return err
	}
	change(&l, name)
	slices.Sort(l.Files)
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = atomicfile.WriteFile(StateListPath(home), append(text, '\n'), 0o600)
	}
	if err == nil {
		err = errors.Join(owner.GiveToHomeOwner(home, StateListPath(home)), owner.GiveToHomeOwner(home, lock.Name()))
	}
	if err != nil {
		return fmt.Errorf("write the list of state files: %w", err)
	}
	return nil
}

// CheckNotMissing returns a *MissingFileError if the home lists the file and it is missing or empty.
func CheckNotMissing(home, path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports other errors
	}
	name, err := relativeName(home, path)
	if err != nil {
		return err
	}
	l, err := readList(home)
	if err == nil && slices.Contains(l.Files, name) {
		err = &MissingFileError{path, StateListPath(home)}
	}
	return err
}

// StateListPath returns the path of a home's list.
func StateListPath(home string) string { return filepath.Join(home, listName) }

// relativeName returns the path of a file relative to the home, or "" if it is elsewhere.
func relativeName(home, path string) (string, error) {
	name, err := filepath.Rel(home, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", err
	}
	return filepath.ToSlash(name), nil
}

// readList reads the list. Without a list file it returns an empty list.
func readList(home string) (l stateFileList, err error) {
	data, err := smallfile.Read(StateListPath(home), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && l.Files == nil {
		err = errors.New("it lists nothing")
	}
	if err != nil {
		return l, fmt.Errorf("the list of state files %s can't be read: %w; restore a copy, or remove it if no file of the home is missing",
			StateListPath(home), err)
	}
	return l, nil
}
