package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Directories are made below a whitelisted directory as they are in the workspace, and nowhere else.
func TestParentsBelowAWhitelistedDirectory(t *testing.T) {
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(outside, "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Mkdir(filepath.Join(outside, "other"), 0o755),
		os.Symlink(filepath.Join(outside, "other"), filepath.Join(open, "out"))); err != nil {
		t.Fatal(err)
	}
	g := newGround(t, func(p *guard.Policy) {
		p.AllowWritePaths = []string{"^" + open + "/", "^" + outside + "/single/deep/f$"}
	})
	file := filepath.Join(open, "a", "b", "f")
	edit := FileChange{Path: file, Parents: true, Change: func(*OldFile) ([]byte, error) { return []byte("x"), nil }}
	if err := g.PreviewChanges(func([]PlannedChange) error { return nil }, edit); err != nil {
		t.Errorf("tried: %v", err)
	}
	refused := errors.New("refused")
	if err := g.ApplyChanges(func([]PlannedChange) error { return refused }, edit); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(filepath.Join(open, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory is left of a change that was not made: %v", err)
	}
	var made []string
	if err := g.ApplyChanges(func(c []PlannedChange) error { made = c[0].Dirs; return nil }, edit); err != nil {
		t.Fatal(err)
	}
	if got := g.contents(file); got != "x" || strings.Join(made, " ") != filepath.Join(open, "a")+" "+filepath.Join(open,
		"a", "b") {
		t.Errorf("%q, and made were %q", got, made)
	}
	if err := os.RemoveAll(filepath.Join(open, "a")); err != nil {
		t.Error(err)
	}

	for _, path := range []string{filepath.Join(open, "out", "new", "f"), filepath.Join(open, "..", "other", "new", "f")} {
		wantRefused(t, path, g.WriteFile(path, nil))
	}
	var none *Error
	if err := g.WriteFile(filepath.Join(outside, "single", "deep", "f"), nil); !errors.As(err, &none) ||
		none.Code != NoDirectory || none.Path != filepath.Join(outside, "single", "deep") {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := os.ReadDir(filepath.Join(outside, "other")); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	g.untouched("writes")
}
