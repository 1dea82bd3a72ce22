package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// closeDir makes the directory of a single whitelisted file one that nothing can be made in, as the kernel's wall does.
// Root may write anywhere, so for root it is shown where the whole is tried: in the sandbox.
func closeDir(t *testing.T) (g *ground, file string, open func() *Workspace) {
	t.Helper()
	if os.Getuid() == 0 {
		return nil, "", nil
	}
	g = newGround(t)
	file = filepath.Join(filepath.Dir(g.o), "single")
	g.put(file, "a long old text")
	if err := os.Chmod(filepath.Dir(file), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(file), 0o755) })
	state := t.TempDir()
	return g, file, func() *Workspace {
		w, err := OpenWorkspace(guard.Policy{Workspace: g.w, Restrict: true, AllowWritePaths: []string{"^" + file + "$"}},
			Options{StateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
}

func TestFileInReadOnlyDirectoryIsWrittenInPlace(t *testing.T) {
	g, file, open := closeDir(t)
	if g == nil {
		return
	}
	w := open()
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile(file, []byte("new")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(file)
	if err != nil || !os.SameFile(before, after) || g.contents(file) != "new" {
		t.Errorf("the file has %q in it, %v", g.contents(file), err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// Of several, one that fails takes it back.
	broken := errors.New("broken")
	err = w.ApplyChanges(func([]PlannedChange) error { return os.Mkdir(filepath.Join(g.w, "f"), 0o755) }, becoming(file, "newer"),
		becoming("f", "x"))
	if err == nil || g.contents(file) != "new" {
		t.Errorf("the file has %q in it, %v", g.contents(file), err)
	}
	if err := w.ApplyChanges(func([]PlannedChange) error { return broken }, becoming(file, "newer")); !errors.Is(err, broken) ||
		g.contents(file) != "new" {
		t.Errorf("the file has %q in it, %v", g.contents(file), err)
	}
	if err := w.WriteFile(g.o, []byte("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file beside it: %v", err)
	}
	if got := g.contents(g.o); got != secret {
		t.Errorf("the file beside it is %q", got)
	}
}

// What a killed process has begun, the next one finishes; what was not whole on the disk was never begun.
func TestNextProcessCompletesWriteInPlace(t *testing.T) {
	g, file, open := closeDir(t)
	if g == nil {
		return
	}
	w := open()
	intent := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(w.pending.dir, intentPrefix+name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.put(file, "half of the new te")
	head := func(of, path string, size int) string {
		info, err := os.Stat(of)
		if err != nil {
			t.Fatal(err)
		}
		return formatIntentHeader(path, info, size)
	}
	replaced := filepath.Join(g.w, "replaced") // by another file, since
	g.put(replaced, "newer")
	later := filepath.Join(g.w, "later") // changed by somebody, since
	g.put(later, "mended")
	if err := os.Chtimes(later, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	intent("later", []byte(head(later, later, 3)+"old"))
	intent("whole", []byte(head(file, file, 12)+"the new text"))
	intent("torn", []byte(head(file, file, 12)+"the new"))
	intent("begun", []byte(file[:5]))
	intent("elsewhere", []byte(head(g.o, g.o, 7)+"planted"))
	intent("replaced", []byte(head(file, replaced, 3)+"old"))
	open()
	if got := g.contents(file); got != "the new text" {
		t.Errorf("the file has %q in it", got)
	}
	if got := g.contents(g.o); got != secret {
		t.Errorf("an intent has changed %q", got)
	}
	if got := g.contents(replaced); got != "newer" {
		t.Errorf("an intent has written %q over what came after it", got)
	}
	if got := g.contents(later); got != "mended" {
		t.Errorf("an intent has written %q over what came after it", got)
	}
	left, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*"))
	if len(left) != 1 || !bytes.HasSuffix([]byte(left[0]), []byte("elsewhere")) {
		t.Errorf("left: %v", left)
	}
}
