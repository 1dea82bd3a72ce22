package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// plant makes a small tree to move and copy.
func (g *ground) plant() {
	g.t.Helper()
	for _, dir := range []string{"d/e", "other"} {
		if err := os.MkdirAll(filepath.Join(g.w, dir), 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
	g.put(filepath.Join(g.w, "f"), "f")
	g.put(filepath.Join(g.w, "d", "x"), "x")
	g.put(filepath.Join(g.w, "d", "e", "y"), "y")
	g.put(filepath.Join(g.w, "other", "z"), "z")
	g.link("x", "d/inside")
	g.link(g.o, "d/outside")
	if err := os.Chmod(filepath.Join(g.w, "d", "x"), 0o751); err != nil {
		g.t.Fatal(err)
	}
}

// files lists a tree: names, modes of files, contents, targets of links.
func (g *ground) files(dir string) []string {
	g.t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join(g.w, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(filepath.Join(g.w, dir), path)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			all = append(all, name+" -> "+target)
		case d.IsDir():
			all = append(all, name+"/")
		default:
			all = append(all, name+" "+info.Mode().String()+" "+g.contents(path))
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return all
}

func TestMoveAndCopy(t *testing.T) {
	for name, test := range map[string]struct{ from, to string }{
		"a file":             {"f", "g"},
		"into a directory":   {"f", "other/g"},
		"a directory":        {"d", "moved"},
		"a directory deeper": {"d", "other/moved"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			g.plant()
			want := g.files(test.from)
			if err := g.CopyTree(test.from, test.to, TransferOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := g.files(test.to); !slices.Equal(got, want) {
				t.Errorf("the copy is %q; want %q", got, want)
			}
			if got := g.files(test.from); !slices.Equal(got, want) {
				t.Errorf("after copying, the source is %q", got)
			}
			if err := g.MoveTree(test.from, test.to, TransferOptions{}); !errors.Is(err, Exists) {
				t.Errorf("moving onto the copy: %v", err)
			}
			if err := g.MoveTree(test.from, test.to, TransferOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			if got := g.files(test.to); !slices.Equal(got, want) {
				t.Errorf("moved, it is %q; want %q", got, want)
			}
			if _, err := os.Lstat(filepath.Join(g.w, test.from)); err == nil {
				t.Error("after moving, the source is still there")
			}
			if left := g.files("."); slices.ContainsFunc(left, func(s string) bool { return strings.Contains(s, ".tmp-") }) {
				t.Errorf("left: %q", left)
			}
			g.untouched(name)
		})
	}
}

func TestRefusedTransferChangesNothing(t *testing.T) {
	g := newGround(t)
	g.plant()
	g.link("d", "dlink")
	g.link("f", "flink")
	g.link(filepath.Dir(g.o), "out")
	before := g.files(".")
	for _, test := range []struct {
		from, to string
		want     error
	}{
		{"f", "other/z", Exists}, {"d", "other", Exists}, {"f", "f", Same}, {"d", "d/e/d", Same}, {"d", "d", Same},
		{"d/e", "d", Same}, {"missing", "m", fs.ErrNotExist}, {"f", "none/m", fs.ErrNotExist}, {"f", "out/f", Refused},
		{"f", g.o, Refused}, {".", "w", Refused}, {g.o, "stolen", Refused}, {"out/secret.txt", "stolen", Refused},
	} {
		if err := g.MoveTree(test.from, test.to, TransferOptions{}); !errors.Is(err, test.want) {
			t.Errorf("moving %s to %s: %v; want %T", test.from, test.to, err, test.want)
		}
		if test.from == "." {
			continue // to copy it into itself is another error
		}
		if err := g.CopyTree(test.from, test.to, TransferOptions{}); !errors.Is(err, test.want) {
			t.Errorf("copying %s to %s: %v; want %T", test.from, test.to, err, test.want)
		}
	}
	for _, test := range [][2]string{{"dlink", "d/e/copy"}, {".", "copy"}, {"flink", "f"}, {"f", "flink"}, {"f", "d"}} {
		if err := g.CopyTree(test[0], test[1], TransferOptions{Overwrite: true}); err == nil {
			t.Errorf("copying %s to %s works", test[0], test[1])
		}
	}
	if after := g.files("."); !slices.Equal(before, after) {
		t.Errorf("before %q\nafter  %q", before, after)
	}
	g.untouched("refused moves")
}

func TestMoveAndDeleteKeepSymlinkTarget(t *testing.T) {
	g := newGround(t)
	g.plant()
	g.link(filepath.Dir(g.o), "out")
	if err := g.MoveTree("out", "way", TransferOptions{}); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(g.w, "way")); err != nil || target != filepath.Dir(g.o) {
		t.Errorf("the moved link is %q, %v", target, err)
	}
	if _, err := g.ReadFile("way/secret.txt"); err == nil {
		t.Error("the moved link leads out")
	}
	if err := g.RemoveTree(t.Context(), "way", true, nil); err != nil {
		t.Fatal(err)
	}
	g.untouched("deleting a link to the outside")
}

func TestRemove(t *testing.T) {
	g := newGround(t)
	g.plant()
	for path, want := range map[string]error{
		".": Refused, "d": IsDirectory, "missing": fs.ErrNotExist, g.o: Refused, "../work2": Refused, "/": Refused,
	} {
		if err := g.RemoveTree(t.Context(), path, path != "d", nil); !errors.Is(err, want) {
			t.Errorf("removing %s: %v; want %T", path, err, want)
		}
	}
	if err := g.RemoveTree(t.Context(), "d", true, nil); err != nil {
		t.Error(err)
	}
	if err := g.RemoveTree(t.Context(), "f", false, nil); err != nil {
		t.Error(err)
	}
	if got := g.files("."); !slices.Equal(got, []string{"./", "other/", "other/z -rw-r--r-- z"}) {
		t.Errorf("left: %q", got)
	}
	g.untouched("removing")
}

func TestLimitsHoldForMovesAndCopies(t *testing.T) {
	g := newGround(t, func(p *guard.Policy) { p.MaxFileSize = 3; p.Paths = []string{filepath.Join(p.Workspace, "a")} })
	if err := os.Mkdir(filepath.Join(g.w, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := OpenWorkspace(g.policy, Options{}) // now that the directory of the constraint is there
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	g.put(filepath.Join(g.w, "a", "large"), "large")
	g.put(filepath.Join(g.w, "a", "f"), "f")
	g.put(filepath.Join(g.w, "b"), "b")
	for name, do := range map[string]func(from, to string, o TransferOptions) error{"move": w.MoveTree, "copy": w.CopyTree} {
		if err := do("a/large", "a/l2", TransferOptions{}); !errors.Is(err, TooLarge) {
			t.Errorf("%s of a large file: %v", name, err)
		}
		if err := do("a/f", "c", TransferOptions{}); !errors.Is(err, Refused) || !strings.Contains(err.Error(),
			"outside allowed paths") {
			t.Errorf("%s out of the paths: %v", name, err)
		}
		if err := do("b", "a/b", TransferOptions{}); !errors.Is(err, Refused) {
			t.Errorf("%s into the paths: %v", name, err)
		}
	}
}
