package protect

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A FIFO in the place of a directory is not waited for.
func TestFIFOIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "d")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := rulesOf(t, dir)
	if hits, _, err := r.FindProtectedByNewName(fifo, "HEAD", ""); err == nil {
		t.Errorf("Joined finds %v", hits)
	}
	if hits, err := r.FindProtectedInTree(filepath.Join(fifo, "x"), filepath.Join(fifo, "x")); err == nil {
		t.Errorf("Within finds %v", hits)
	}
}
