// Package statefiles lists the files of a home that keep state which cannot be made again, in <home>/files.json. The list
// tells a missing file from one that never existed. The package must not know the contents of the files.
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

// list is the contents of the list. Paths are relative to the home, with slashes.
type list struct {
	Files []string `json:"files"`
}

// MissingError is the error of a file that a home lists and that does not exist, or is empty.
type MissingError struct{ Path, List string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing or empty; put back a copy, or remove its line from %s to go on without it", e.Path, e.List)
}

// Add lists a file of a home. A file elsewhere is not listed.
func Add(home, path string) error {
	return update(home, path, func(l *list, name string) { l.Files = append(l.Files, name) }, false)
}

// Remove takes a file that was deleted on purpose off the list.
func Remove(home, path string) error {
	return update(home, path, func(l *list, name string) {
		l.Files = slices.DeleteFunc(l.Files, func(other string) bool { return other == name })
	}, true)
}

// update changes the list if it has the file, or has it not.
func update(home, path string, change func(*list, string), listed bool) error {
	name, err := relative(home, path)
	if err != nil || name == "" {
		return err
	}
	if l, readErr := read(home); readErr != nil || slices.Contains(l.Files, name) != listed {
		return readErr
	}
	lock, err := filelock.Open(filepath.Join(home, "."+listName+".lock"), filelock.Wait)
	if err != nil {
		return fmt.Errorf("lock the list of state files: %w", err)
	}
	defer func() { _ = lock.Close() }()
	l, err := read(home)
	if err != nil || slices.Contains(l.Files, name) != listed {
		return err
	}
	change(&l, name)
	slices.Sort(l.Files)
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = atomicfile.WriteFile(listPath(home), append(text, '\n'), 0o600)
	}
	if err == nil {
		err = errors.Join(owner.Give(home, listPath(home)), owner.Give(home, lock.Name()))
	}
	if err != nil {
		return fmt.Errorf("write the list of state files: %w", err)
	}
	return nil
}

// Check returns a *MissingError if a home lists a file that is missing or empty.
func Check(home, path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports other errors
	}
	name, err := relative(home, path)
	if err != nil {
		return err
	}
	l, err := read(home)
	if err == nil && slices.Contains(l.Files, name) {
		err = &MissingError{path, listPath(home)}
	}
	return err
}

func listPath(home string) string { return filepath.Join(home, listName) }

// relative returns the path of a file below the home, "" if it is elsewhere.
func relative(home, path string) (string, error) {
	name, err := filepath.Rel(home, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", err
	}
	return filepath.ToSlash(name), nil
}

// read reads the list, which is empty in a home without one.
func read(home string) (l list, err error) {
	data, err := smallfile.Read(listPath(home), maxBytes)
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
		return l, fmt.Errorf("the list of state files %s can't be read: %w; put back a copy, or remove it if no file of the home is missing",
			listPath(home), err)
	}
	return l, nil
}
