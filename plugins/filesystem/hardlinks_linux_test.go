package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Names of one file are names of one file again when they come back, and a file that has another name elsewhere is not.
func TestUndoRestoresHardLinks(t *testing.T) {
	p := start(t, map[string]string{"d/a": "one", "d/z": "two", "elsewhere": "three"})
	at := func(name string) string { return filepath.Join(p.Dir, filepath.FromSlash(name)) }
	if err := os.MkdirAll(at("d/sub/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{{"d/a", "d/sub/deep/b"}, {"d/a", "d/y"}, {"d/z", "d/sub/z"}, {"elsewhere", "d/w"}} {
		if err := os.Link(at(names[0]), at(names[1])); err != nil {
			t.Fatal(err)
		}
	}
	must(t, p, "rm", args{"path": "d", "recursive": true})
	must(t, p, "undo", args{})
	same := func(a, b string) bool {
		x, err := os.Stat(at(a))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.Stat(at(b))
		if err != nil {
			t.Fatal(err)
		}
		return os.SameFile(x, y)
	}
	for name, want := range map[string]string{"d/a": "one", "d/y": "one", "d/sub/deep/b": "one", "d/z": "two",
		"d/sub/z": "two", "d/w": "three", "elsewhere": "three"} {
		wantContents(t, p, name, want)
	}
	if !same("d/a", "d/sub/deep/b") || !same("d/a", "d/y") || !same("d/z", "d/sub/z") || same("d/a", "d/z") ||
		!same("d/w", "elsewhere") {
		t.Error("the names are not those of the same files as before")
	}
}
