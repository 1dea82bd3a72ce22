package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A reader sees the old contents or the new, never a part.
func TestWriteIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<19)}
	if err := WriteFile(path, contents[0], 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		var err error
		for n := range 20 {
			err = errors.Join(err, WriteFile(path, contents[n%2], 0o600))
		}
		done <- err
	}()
	for {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Fatalf("a reader got %d bytes", len(got))
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

func TestWriteSetsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, perm := range []fs.FileMode{0o600, 0o644, 0o400} {
		if err := WriteFile(path, []byte("x"), perm); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != perm && filepath.Separator == '/' {
			t.Errorf("mode %v, want %v", got, perm)
		}
	}
}

// A failed write leaves the file as it was, and nothing beside it.
func TestFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "file", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || !entries[0].IsDir() {
		t.Errorf("%v is left", entries)
	}
}
