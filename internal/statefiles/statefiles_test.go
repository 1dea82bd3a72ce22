package statefiles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMissingListedFileIsError(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "schedule", "main", "jobs.json")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	isMissing := func() bool {
		t.Helper()
		err := CheckNotMissing(home, path)
		missing := (*MissingFileError)(nil)
		if err != nil && !errors.As(err, &missing) {
			t.Fatal(err)
		}
		return missing != nil && missing.Path == path
	}
	if isMissing() {
		t.Error("a file that never existed is missed")
	}
	write("x")
	for range 2 {
		if err := errors.Join(AddToList(home, path), AddToList(home, filepath.Join(filepath.Dir(home), "elsewhere"))); err != nil {
			t.Fatal(err)
		}
	}
	if isMissing() {
		t.Error("a file that is there is missed")
	}
	write("")
	if !isMissing() {
		t.Error("an empty file is not missed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !isMissing() {
		t.Error("a deleted file is not missed")
	}
	if err := RemoveFromList(home, path); err != nil || isMissing() {
		t.Errorf("removed from the list: %v", err)
	}
}

func TestConcurrentAdd(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	names := strings.Split("abcdefghijklmnop", "")
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if err := AddToList(home, filepath.Join(home, name)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, name := range names {
		if CheckNotMissing(home, filepath.Join(home, name)) == nil {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestBrokenListIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\x00\x00", `{"files": ["a"`, "[]", "{}", "null"} {
		home := t.TempDir()
		list := filepath.Join(home, listName)
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"add": AddToList(home, filepath.Join(home, "a")), "check": CheckNotMissing(home, filepath.Join(home, "a"))} {
			if err == nil || !strings.Contains(err.Error(), list) || !strings.Contains(err.Error(), "restore a copy") {
				t.Errorf("%s with %q: %v", what, text, err)
			}
		}
	}
}

func TestMissingListIsAnError(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path, list := filepath.Join(home, "a"), filepath.Join(home, listName)
	if err := errors.Join(CheckNotMissing(home, path), AddToList(home, path), os.Remove(list)); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"add": AddToList(home, path), "check": CheckNotMissing(home, path)} {
		if err == nil || !strings.Contains(err.Error(), list+" is missing; restore a copy") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(os.Remove(lockPath(home, listName)), CheckNotMissing(home, path), AddToList(home, path)); err != nil {
		t.Errorf("with the lock file removed: %v", err)
	}
}
