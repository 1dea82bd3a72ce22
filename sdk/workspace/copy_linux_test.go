package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A copy of a file with holes has the same contents and takes no more room than it.
func TestHolesStayHoles(t *testing.T) {
	g := newGround(t)
	const mib = 1 << 20
	data := map[string]map[int64]string{
		"ends in one": {0: "a", 8 * mib: "b"}, "begins with one": {32*mib - 1: "z"}, "nothing else": {},
		"several": {mib: "1", 9 * mib: "2", 20 * mib: strings.Repeat("3", 3*mib)},
	}
	for name, parts := range data {
		path := filepath.Join(g.w, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for at, s := range parts {
			if _, err := f.WriteAt([]byte(s), at); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(f.Truncate(32*mib), f.Close(), g.CopyTree(name, name+" copy", TransferOptions{})); err != nil {
			t.Fatal(err)
		}
		if before, after := []byte(g.contents(path)), []byte(g.contents(path+" copy")); !bytes.Equal(before, after) {
			t.Errorf("%s: the copy has other contents, %d bytes", name, len(after))
		}
		if before, after := blocks(t, path), blocks(t, path+" copy"); after > before+mib/512 {
			t.Errorf("%s: the copy takes %d blocks, the file %d", name, after, before)
		}
	}
}

func blocks(t *testing.T, path string) int64 {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Blocks
}

// Directories in directories are copied as deep as they are, whatever their modes, also past where a path as a whole
// would be too long.
func TestDeepTreesAreCopied(t *testing.T) {
	g := newGround(t)
	const depth = 1200
	dir, err := os.OpenRoot(g.w)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Mkdir("deep", 0o755); err != nil {
		t.Fatal(err)
	}
	name := "deep"
	for i := range depth {
		next, err := dir.OpenRoot(name)
		if err := errors.Join(err, dir.Close()); err != nil {
			t.Fatal(err)
		}
		dir, name = next, "d"
		mode := os.FileMode(0o700)
		if i == depth-1 {
			mode = 0o500
		}
		if err := errors.Join(dir.Mkdir("d", mode), dir.WriteFile("f", fmt.Append(nil, i), 0o640),
			dir.Symlink("f", "l")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(dir.Close(), g.CopyTree("deep", "copy", TransferOptions{})); err != nil {
		t.Fatal(err)
	}
	tree := func(name string) (all []string) {
		if err := g.WalkTree("read", name, func(e *TreeEntry) error {
			all = append(all, fmt.Sprintf("%d %s %v", strings.Count(e.Name, "/"), filepath.Base(e.Name), e.Info.Mode()))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before, after := tree("deep"), tree("copy")
	if len(before) != 1+3*depth || strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("%d entries became %d", len(before), len(after))
	}
	for _, name := range []string{"deep", "copy"} { // os.RemoveAll would need the whole path
		root, err := os.OpenRoot(g.w)
		if err := errors.Join(err, removeTempTree(root, name), root.Close()); err != nil {
			t.Error(err)
		}
	}
}
