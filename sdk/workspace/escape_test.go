package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// These paths must not lead anywhere, in whatever way they are used.
func TestNoPathLeadsOut(t *testing.T) {
	g := newGround(t)
	g.link(g.o, "file")
	g.link(filepath.Dir(g.o), "dir")
	g.link("file", "chain")
	g.link("../work2/secret.txt", "relative")
	g.link(filepath.Join(filepath.Dir(g.o), "new"), "dangling")
	g.link("loop", "loop")
	for _, path := range []string{
		g.o, "../work2/secret.txt", "nope/../../work2/secret.txt", g.w + "/../work2/secret.txt", g.w + "2/secret.txt",
		"file", "dir/secret.txt", "chain", "relative", "dangling", "loop", "dir/new",
		"/proc/self/root" + g.o, "/proc/self/cwd/../" + g.o, "/dev/fd/0", "/dev/stdin",
		"\x00", "a\x00b", strings.Repeat("a/", 2500) + "x", "", "..", "/",
	} {
		// The name of the workspace's own directory with something behind it is another directory.
		for name, do := range map[string]func(string) error{
			"read":    func(p string) error { _, err := g.ReadFile(p); return err },
			"stat":    func(p string) error { _, err := g.Stat(p); return err },
			"list":    func(p string) error { _, err := g.ReadDir(p); return err },
			"write":   func(p string) error { return g.WriteFile(p, []byte("x")) },
			"opendir": func(p string) error { _, err := g.OpenDir(p); return err },
		} {
			if err := do(path); err == nil {
				t.Errorf("%s of %.60q works", name, path)
			}
		}
	}
	g.untouched("trying to get out")
}

func TestDotNamesInsideAreAllowed(t *testing.T) {
	g := newGround(t)
	for _, name := range []string{"%2e%2e", "file:", "~", "...", "..x", "a b", "-rf"} {
		if err := g.WriteFile(name, []byte(name)); err != nil {
			t.Errorf("write %q: %v", name, err)
			continue
		}
		if got := g.contents(filepath.Join(g.w, name)); got != name {
			t.Errorf("%q has %q in it", name, got)
		}
	}
}

func TestSymlinkInsideWorkspaceIsFollowed(t *testing.T) {
	g := newGround(t)
	if err := os.Mkdir(filepath.Join(g.w, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.put(filepath.Join(g.w, "real", "a"), "inside")
	g.link("real", "relative")
	g.link(filepath.Join(g.w, "real"), "absolute")
	g.link(filepath.Join(g.w, "real", "a"), "file")
	for _, path := range []string{"relative/a", "absolute/a", "file", g.w + "/absolute/a"} {
		if data, err := g.ReadFile(path); err != nil || string(data) != "inside" {
			t.Errorf("read %s: %q, %v", path, data, err)
		}
	}
	if err := g.WriteFile("file", []byte("changed")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(g.w, "file")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("writing through a link has replaced it: %v, %v", info, err)
	}
	if got := g.contents(filepath.Join(g.w, "real", "a")); got != "changed" {
		t.Errorf("the link's target has %q in it", got)
	}
}

func TestWhitelistMatchesExactly(t *testing.T) {
	g := newGround(t, func(p *guard.Policy) {
		outside := filepath.Join(filepath.Dir(p.Workspace), "work2")
		p.AllowReadPaths = []string{"^" + outside + "/secret\\.txt$"}
		p.AllowWritePaths = []string{"^" + outside + "/out-[0-9]+$"}
	})
	if data, err := g.ReadFile(g.o); err != nil || string(data) != secret {
		t.Errorf("a whitelisted file can't be read: %q, %v", data, err)
	}
	wantRefused(t, "writing what may be read", g.WriteFile(g.o, []byte("x")))
	g.untouched("writing what may be read")

	out := filepath.Join(filepath.Dir(g.o), "out-1")
	if err := g.WriteFile(out, []byte("x")); err != nil {
		t.Fatalf("a whitelisted file can't be written: %v", err)
	}
	_, err := g.ReadFile(out)
	wantRefused(t, "reading what may be written", err)
	wantRefused(t, "writing beside the pattern", g.WriteFile(out+"x", []byte("x")))

	// A whitelisted name that is a link to what is not whitelisted stays closed.
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(g.o, out); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "writing through a whitelisted link", g.WriteFile(out, []byte("x")))
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	g.untouched("writing through a whitelisted link")
}

func TestConstraintsNarrow(t *testing.T) {
	g := newGround(t, func(p *guard.Policy) {
		p.Paths = []string{filepath.Join(p.Workspace, "only")}
		if err := os.Mkdir(p.Paths[0], 0o755); err != nil {
			t.Fatal(err)
		}
		p.MaxFileSize = 10
	})
	g.put(filepath.Join(g.w, "beside"), "x")
	g.link("../beside", "only/link")
	if err := g.WriteFile("only/a", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	_, err := g.ReadFile("beside")
	wantRefused(t, "reading beside the constraint", err)
	if want := "Path '" + filepath.Join(g.w, "beside") + "' is outside allowed paths"; err == nil || err.Error() != want {
		t.Errorf("the refusal is %v; want %s", err, want)
	}
	if _, err := g.ReadFile("only/link"); err == nil {
		t.Error("a link leads out of the constraint")
	}
	if err := g.WriteFile("only/b", []byte("01234567890")); err == nil {
		t.Error("a file over max_file_size was written")
	}
	if _, err := os.Lstat(filepath.Join(g.w, "only", "b")); err == nil {
		t.Error("a file over max_file_size is there")
	}
	g.put(filepath.Join(g.w, "only", "big"), "01234567890")
	if _, err := g.ReadFile("only/big"); err == nil {
		t.Error("a file over max_file_size was read")
	}
}

func TestReadOnly(t *testing.T) {
	g := newGround(t)
	w, err := OpenWorkspace(guard.Policy{Workspace: g.w}, Options{ReadOnly: true}) // even where the policy opens everything
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	wantRefused(t, "writing", w.WriteFile("a", nil))
	if data, err := w.ReadFile(g.o); err != nil || string(data) != secret {
		t.Errorf("reading without restriction: %q, %v", data, err)
	}
}
