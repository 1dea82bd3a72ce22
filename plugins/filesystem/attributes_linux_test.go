package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Extended attributes come back with what was deleted, also those of what nobody may write to.
func TestUndoRestoresAttributes(t *testing.T) {
	p := start(t, map[string]string{"f": "x", "d/e/closed": "y", "d/plain": "z"})
	noted := []string{"f", "d", "d/e", "d/e/closed"}
	for _, name := range noted {
		if err := unix.Setxattr(filepath.Join(p.Dir, name), "user.note", []byte("of\x00 "+name), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(p.Dir, "d/e/closed"), 0o400),
		os.Chmod(filepath.Join(p.Dir, "d/e"), 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(p.Dir, "d/e"), 0o700) })
	must(t, p, "rm", args{"path": "f"})
	must(t, p, "undo", args{})
	if os.Getuid() != 0 {
		_ = os.Chmod(filepath.Join(p.Dir, "d/e"), 0o700) // nobody else may delete what is in it
	}
	must(t, p, "rm", args{"path": "d", "recursive": true})
	must(t, p, "undo", args{})
	for _, name := range noted {
		value := make([]byte, 64)
		n, err := unix.Getxattr(filepath.Join(p.Dir, name), "user.note", value)
		if err != nil || string(value[:n]) != "of\x00 "+name {
			t.Errorf("%s: %q, %v", name, value[:max(n, 0)], err)
		}
	}
	list := make([]byte, 64)
	if n, err := unix.Listxattr(filepath.Join(p.Dir, "d/plain"), list); err != nil || strings.Contains(string(list[:n]),
		"user.") {
		t.Errorf("%q, %v", list[:max(n, 0)], err)
	}
	info, err := os.Stat(filepath.Join(p.Dir, "d/e/closed"))
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("%v, %v", info, err)
	}
}
