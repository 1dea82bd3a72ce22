package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildMakesAllOrNothing(t *testing.T) {
	g := newGround(t)
	fill := func(b *Building) error {
		return errors.Join(b.Mkdir("sub", 0o550), b.File("sub/f", 0o640, strings.NewReader("f")), b.Symlink("sub/f", "link"))
	}
	if err := g.Build("d", 0o711, fill); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d": 0o711 | fs.ModeDir, "d/sub": 0o550 | fs.ModeDir, "d/sub/f": 0o640} {
		if info, err := os.Lstat(filepath.Join(g.w, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
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
		"failed":           {"n", func(b *Building) error { return errors.Join(fill(b), context.Canceled) }, context.Canceled},
		"outside":          {"../work2/n", fill, fs.ErrPermission},
		"without a parent": {"none/n", fill, fs.ErrNotExist},
	} {
		if err := g.Build(test.path, 0o755, test.fill); !errors.Is(err, test.want) {
			t.Errorf("%s: %v; want %v", name, err, test.want)
		}
	}
	for _, name := range []string{"../x", "sub/../../x", "/x"} {
		err := g.Build("n", 0o755, func(b *Building) error { return b.File(name, 0o600, strings.NewReader("x")) })
		if err == nil {
			t.Errorf("%s was made", name)
		}
	}
	g.untouched("building")
	if entries, err := os.ReadDir(g.w); err != nil || len(entries) != 1 {
		t.Errorf("there is more than what was built: %v, %v", entries, err)
	}
	_ = os.Chmod(filepath.Join(g.w, "d", "sub"), 0o700) // for who is to remove it
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
