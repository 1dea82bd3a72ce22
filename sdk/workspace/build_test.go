package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBuildMakesAllOrNothing(t *testing.T) {
	g := newGround(t)
	long := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	as := func(mode fs.FileMode) Meta {
		return Meta{Mode: mode, Modified: long.Add(time.Duration(mode) * time.Hour)}
	}
	fill := func(b *Building) error {
		return errors.Join(b.Mkdir("sub", as(0o550)), b.Mkdir("sub/deep", as(0o500)),
			b.File("sub/deep/f", as(0o640), strings.NewReader("f")),
			b.File("sub/g", as(0o600), strings.NewReader("g")), b.Symlink("sub/deep/f", "link"))
	}
	if err := g.Build("d", as(0o711), fill); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"d": 0o711 | fs.ModeDir, "d/sub": 0o550 | fs.ModeDir, "d/sub/deep": 0o500 | fs.ModeDir, "d/sub/deep/f": 0o640,
		"d/sub/g": 0o600,
	} {
		info, err := os.Lstat(filepath.Join(g.w, name))
		if err != nil || info.Mode() != want || !info.ModTime().Equal(as(want.Perm()).Modified) {
			t.Errorf("%s: %v of %v, %v; want %v of %v", name, info.Mode(), info.ModTime(), err, want, as(want.Perm()).Modified)
		}
	}
	if got := g.contents(filepath.Join(g.w, "d", "link")); got != "f" {
		t.Errorf("through the link there is %q", got)
	}
	for name, test := range map[string]struct {
		path string
		fill func(*Building) error
		want error
	}{
		"on what is there": {"d", fill, fs.ErrExist},
		"failed": {"n", func(b *Building) error { return errors.Join(fill(b), context.Canceled) },
			context.Canceled},
		"outside":          {"../work2/n", fill, fs.ErrPermission},
		"without a parent": {"none/n", fill, fs.ErrNotExist},
	} {
		if err := g.Build(test.path, as(0o755), test.fill); !errors.Is(err, test.want) {
			t.Errorf("%s: %v; want %v", name, err, test.want)
		}
	}
	for _, name := range []string{"../x", "sub/../../x", "/x", "..", ".", "sub/x"} {
		for what, make := range map[string]func(*Building) error{
			"file": func(b *Building) error { return b.File(name, as(0o600), strings.NewReader("x")) },
			"dir":  func(b *Building) error { return b.Mkdir(name, as(0o700)) },
			"link": func(b *Building) error { return b.Symlink("x", name) },
		} {
			if err := g.Build("n", as(0o755), make); err == nil {
				t.Errorf("a %s %s was made", what, name)
			}
		}
	}
	g.untouched("building")
	if entries, err := os.ReadDir(g.w); err != nil || len(entries) != 1 {
		t.Errorf("there is more than what was built: %v, %v", entries, err)
	}
	for _, closed := range []string{"sub", "sub/deep"} {
		_ = os.Chmod(filepath.Join(g.w, "d", closed), 0o700) // for who is to remove it
	}
}

// Who ends a call that deletes a directory has deleted nothing, or all of it.
func TestADeletionThatIsGivenUpOn(t *testing.T) {
	g := newGround(t)
	if err := os.MkdirAll(filepath.Join(g.w, "d", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := g.Remove(ctx, "d", true, func(*Tree) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(g.w, "d", "sub")); err != nil {
		t.Errorf("what was not to be deleted any more: %v", err)
	}
	if err := g.Remove(t.Context(), "d", true, nil); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(g.w); err != nil || len(entries) != 0 {
		t.Errorf("what is left: %v, %v", entries, err)
	}
}
