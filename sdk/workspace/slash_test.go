package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A path that ends in a slash makes no file, whatever is there already.
func TestPathWithTrailingSlashIsRefused(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "f"), "f")
	if err := errors.Join(os.Mkdir(filepath.Join(g.w, "d"), 0o755),
		os.WriteFile(filepath.Join(g.w, "d", "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"new/", "new/.", "new//", "deep/new/", "f/", "d/"} {
		for name, do := range map[string]func() error{
			"write": func() error { return g.WriteFile(path, []byte("x")) },
			"copy":  func() error { return g.CopyTree("f", path, TransferOptions{Overwrite: true}) },
			"move":  func() error { return g.MoveTree("f", path, TransferOptions{Overwrite: true}) },
		} {
			if path == "deep/new/" && name != "write" {
				continue // there is nothing to copy into
			}
			var is *Error
			if err := do(); !errors.As(err, &is) || is.Code != DirectoryName || is.Path != path {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
	}
	if entries, err := os.ReadDir(g.w); err != nil || len(entries) != 2 || g.contents(filepath.Join(g.w, "f")) != "f" {
		t.Errorf("%v, %v", entries, err)
	}
	if err := errors.Join(g.CopyTree("d/", "copied/", TransferOptions{}), g.MoveTree("copied/", "moved/", TransferOptions{}),
		g.WriteFile("moved/.x", nil)); err != nil {
		t.Errorf("directories: %v", err)
	}
}
