package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// What is protected stays closed though a whitelist, or reading anywhere, would open it.
func TestProtectedPathsStayClosed(t *testing.T) {
	for name, change := range map[string]func(*guard.Policy){
		"whitelists":       func(p *guard.Policy) { p.AllowReadPaths, p.AllowWritePaths = []string{".*"}, []string{".*"} },
		"reading anywhere": func(p *guard.Policy) { p.AllowReadOutside = true },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, func(p *guard.Policy) {
				change(p)
				home := filepath.Join(filepath.Dir(p.Workspace), "work2")
				p.Protected, p.Unprotected = []string{home}, []string{filepath.Join(home, "open")}
			})
			home := filepath.Dir(g.o)
			g.link(g.o, "link")
			for what, do := range map[string]func(string) error{
				"read":  func(p string) error { _, err := g.ReadFile(p); return err },
				"stat":  func(p string) error { _, err := g.Stat(p); return err },
				"write": func(p string) error { return g.WriteFile(p, []byte("x")) },
				"move":  func(p string) error { return g.MoveTree(p, "stolen", TransferOptions{}) },
				"copy":  func(p string) error { return g.CopyTree(p, "stolen", TransferOptions{}) },
			} {
				for _, path := range []string{g.o, "../work2/secret.txt", "link"} {
					if what == "move" && path == "link" {
						continue // that moves the link
					}
					if err := do(path); err == nil {
						t.Errorf("%s of %s works", what, path)
					}
				}
			}
			for what, err := range map[string]error{
				"list":         func() error { _, err := g.ReadDir(home); return err }(),
				"delete":       g.RemoveTree(t.Context(), g.o, false, nil),
				"delete above": g.RemoveTree(t.Context(), filepath.Dir(home), true, nil),
				"make":         g.WriteFile(filepath.Join(home, "new"), nil),
			} {
				if err == nil {
					t.Errorf("%s works", what)
				}
			}
			g.untouched("trying what is protected")
			if err := os.Mkdir(filepath.Join(home, "open"), 0o755); err != nil {
				t.Fatal(err)
			}
			g.put(filepath.Join(home, "open", "f"), "open")
			if data, err := g.ReadFile(filepath.Join(home, "open", "f")); err != nil || string(data) != "open" {
				t.Errorf("what is not protected: %q, %v", data, err)
			}
		})
	}
}

// A directory that is swapped for a link to what is protected, while files in it are read, leads nowhere.
func TestSwappedPathKeepsProtectedFilesUnread(t *testing.T) {
	g := newGround(t, func(p *guard.Policy) {
		p.AllowReadOutside, p.Protected = true, []string{filepath.Join(filepath.Dir(p.Workspace), "work2")}
	})
	third := t.TempDir()
	d, link := filepath.Join(third, "d"), filepath.Join(third, "link")
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	g.put(filepath.Join(d, "secret.txt"), "harmless")
	// A relative link: an os.Root for the whole machine would follow it.
	third, err := filepath.EvalSymlinks(third)
	if err != nil {
		t.Fatal(err)
	}
	target, err := filepath.Rel(third, filepath.Dir(g.o))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, d, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	var harmless atomic.Int64
	race(func() {
		data, err := g.ReadFile(filepath.Join(d, "secret.txt"))
		switch {
		case err == nil && strings.Contains(string(data), secret):
			t.Error("a leak")
		case err == nil:
			harmless.Add(1)
		}
	})
	if harmless.Load() == 0 {
		t.Error("nothing harmless was read either, so nothing was shown")
	}
}

func TestApprovalOfProtectedPathExpires(t *testing.T) {
	g := newGround(t, func(p *guard.Policy) { p.WorkspaceDeny, p.WorkspaceAsk = []string{".envrc"}, []string{"lefthook.yml"} })
	var asked []string
	c := g.NewChangeMonitor(EnforcerOptions{Ask: func(path string) { asked = append(asked, path) }})
	change := func(name string) error {
		return c.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(g.Dir(), name)})
	}
	path := filepath.Join(g.Dir(), "lefthook.yml")
	if change("lefthook.yml") == nil || change(".envrc") == nil || len(asked) != 1 || asked[0] != path {
		t.Errorf("a person is asked for %v", asked)
	}
	c.ApprovePath(path, time.Now().Add(time.Hour))
	c.ApprovePath(filepath.Join(g.Dir(), ".envrc"), time.Now().Add(time.Hour))
	if err := change("lefthook.yml"); err != nil || change(".envrc") == nil {
		t.Errorf("with approval: %v", err)
	}
	c.ApprovePath(path, time.Now())
	if change("lefthook.yml") == nil {
		t.Error("the approval holds after its end")
	}
	g.put(path, "approved earlier")
	if found := c.FinishMonitor().Found; len(found) > 0 {
		t.Errorf("warned of %v, which were approved", found)
	}
}
