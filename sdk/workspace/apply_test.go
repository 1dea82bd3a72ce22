package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// becoming is an edit that makes data the contents of a file.
func becoming(path, data string) FileChange {
	return FileChange{Path: path, Parents: true, Change: func(*OldFile) ([]byte, error) { return []byte(data), nil }}
}

func TestSeveralEditsAreAtomic(t *testing.T) {
	broken := errors.New("broken")
	failing := FileChange{Path: "b", Change: func(*OldFile) ([]byte, error) { return nil, broken }}
	for name, test := range map[string]struct {
		last  func([]PlannedChange) error
		edits []FileChange
		want  error
	}{
		"a change fails": {nil, []FileChange{becoming("a", "new"), failing}, broken},
		"the last word is no": {func([]PlannedChange) error { return broken }, []FileChange{becoming("a", "new"), becoming("b", "new")},
			broken},
		"one is a directory":    {nil, []FileChange{becoming("a", "new"), becoming("dir", "new")}, NotRegular},
		"one may not be":        {nil, []FileChange{becoming("a", "new"), becoming("../work2/secret.txt", "new")}, Refused},
		"one is read-only":      {nil, []FileChange{becoming("a", "new"), becoming("closed", "new")}, ReadOnly},
		"one is too large":      {nil, []FileChange{becoming("a", "new"), becoming("b", "more than ten")}, TooLarge},
		"one has no directory":  {nil, []FileChange{becoming("a", "new"), {Path: "no/b", Change: failing.Change}}, os.ErrNotExist},
		"dirs were made before": {nil, []FileChange{becoming("made/here/a", "new"), failing}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, func(p *guard.Policy) { p.MaxFileSize = 10 })
			for _, f := range []string{"a", "b", "closed"} {
				g.put(filepath.Join(g.w, f), "old")
			}
			if err := errors.Join(os.Mkdir(filepath.Join(g.w, "dir"), 0o755),
				os.Chmod(filepath.Join(g.w, "closed"), 0o444)); err != nil {
				t.Fatal(err)
			}
			err := g.ApplyChanges(test.last, test.edits...)
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v; want one like %T %v", err, test.want, test.want)
			}
			for _, f := range []string{"a", "b", "closed"} {
				if got := g.contents(filepath.Join(g.w, f)); got != "old" {
					t.Errorf("%s is %q", f, got)
				}
			}
			if entries, _ := os.ReadDir(g.w); len(entries) != 4 {
				t.Errorf("there are %v", entries)
			}
			g.untouched(name)
		})
	}
}

// A file that can't be put in place takes those before it back.
func TestFailedCommitIsRolledBack(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "a"), "old a")
	g.put(filepath.Join(g.w, "b"), "old b")
	inode := func(name string) os.FileInfo {
		info, err := os.Stat(filepath.Join(g.w, name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	before := inode("a")
	err := g.ApplyChanges(func([]PlannedChange) error {
		// Between the look at b and its replacement somebody makes it a directory, which no file can replace.
		b := filepath.Join(g.w, "b")
		return errors.Join(os.Remove(b), os.Mkdir(b, 0o755))
	}, becoming("a", "new a"), becoming("new", "new"), becoming("b", "new b"))
	if err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	if got := g.contents(filepath.Join(g.w, "a")); got != "old a" || !os.SameFile(before, inode("a")) {
		t.Errorf("a is %q, and another file", got)
	}
	if _, err := os.Stat(filepath.Join(g.w, "new")); err == nil {
		t.Error("the new file is still there")
	}
	if entries, _ := os.ReadDir(g.w); len(entries) != 2 {
		t.Errorf("there are %v", entries)
	}
}

func TestEditsOfOneFileFollowOneAnother(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "f"), "1")
	g.link("f", "link")
	add := func(path, what string) FileChange {
		return FileChange{Path: path, Change: func(old *OldFile) ([]byte, error) {
			data, err := old.Bytes()
			return append(append([]byte{}, data...), what...), err
		}}
	}
	if err := g.ApplyChanges(nil, add("f", "2"), add("link", "3"), add("./f", "4")); err != nil {
		t.Fatal(err)
	}
	if got := g.contents(filepath.Join(g.w, "f")); got != "1234" {
		t.Errorf("the file is %q", got)
	}
	if info, err := os.Lstat(filepath.Join(g.w, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

// The longest paths there are can be made, and are not left behind when the change fails.
func TestDeepParentsAreCreated(t *testing.T) {
	g := newGround(t)
	deep := strings.Repeat("p/", (maxPathLength-len(g.w))/2-8) + "x"
	broken := errors.New("broken")
	err := g.ApplyChanges(func([]PlannedChange) error { return broken }, FileChange{Path: deep[len("p/")*1500:], Parents: true,
		Change: func(*OldFile) ([]byte, error) { return nil, nil }})
	if entries, _ := os.ReadDir(g.w); !errors.Is(err, broken) || len(entries) > 0 {
		t.Errorf("%v, and there are %v", err, entries)
	}
	if err := g.WriteFile(deep, []byte("deep")); err != nil {
		t.Fatal(err)
	}
	if got, err := g.ReadFile(deep); err != nil || string(got) != "deep" {
		t.Errorf("%q, %v", got, err)
	}
	tried := 0
	err = g.PreviewChanges(func(all []PlannedChange) error { tried = len(all); return nil },
		FileChange{Path: "new/f", Parents: true, Change: func(*OldFile) ([]byte, error) { return []byte("1"), nil }},
		FileChange{Path: "new/f", Parents: true, Change: func(old *OldFile) ([]byte, error) {
			data, err := old.Bytes()
			return append(data, '2'), err
		}})
	if _, errStat := os.Lstat(filepath.Join(g.w, "new")); err != nil || tried != 1 || errStat == nil {
		t.Errorf("what was only tried: %v, %d files, %v", err, tried, errStat)
	}
}

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
