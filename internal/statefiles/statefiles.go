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
	return UpdateFile(home, listName, func() ([]byte, error) {
		l, err := readList(home)
		if err != nil || slices.Contains(l.Files, name) != listed {
			return nil, err
		}
		change(&l, name)
		slices.Sort(l.Files)
		return json.MarshalIndent(l, "", "  ")
	})
}

// UpdateFile replaces a file of the home under a lock between processes. change returns the new contents; nil leaves the
// file unchanged. The lock file is empty until the file was written.
func UpdateFile(home, name string, change func() ([]byte, error)) error {
	path := filepath.Join(home, name)
	lock, err := filelock.OpenLocked(lockPath(home, name), filelock.LockWaiting)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer func() { _ = lock.Close() }()
	text, err := change()
	if err != nil || text == nil {
		return err
	}
	err = atomicfile.WriteFile(path, append(text, '\n'), 0o600)
	if err == nil {
		_, err = lock.WriteAt([]byte("written\n"), 0)
	}
	if err = errors.Join(err, owner.GiveToHomeOwner(home, path), owner.GiveToHomeOwner(home, lock.Name())); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
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

func lockPath(home, name string) string { return filepath.Join(home, "."+name+".lock") }

// relativeName returns the path of a file relative to the home, or "" if it is elsewhere.
func relativeName(home, path string) (string, error) {
	name, err := filepath.Rel(home, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", err
	}
	return filepath.ToSlash(name), nil
}

// readList reads the list. Before the list was first written it returns an empty list.
func readList(home string) (l stateFileList, err error) {
	data, err := smallfile.Read(StateListPath(home), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		lock := lockPath(home, listName)
		if mark, _ := smallfile.Read(lock, maxBytes); len(mark) == 0 {
			return l, nil
		}
		return l, fmt.Errorf("the list of state files %s is missing; restore a copy, or remove %s if no other file of the home is missing",
			StateListPath(home), lock)
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && l.Files == nil {
		err = errors.New("it lists nothing")
	}
	if err != nil {
		return l, fmt.Errorf("the list of state files %s can't be read: %w; restore a copy, or remove it and %s if no other file of the home "+
			"is missing", StateListPath(home), err, lockPath(home, listName))
	}
	return l, nil
}
