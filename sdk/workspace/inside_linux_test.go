package workspace

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

func protecting(p *guard.Policy) {
	p.WorkspaceDeny, p.WorkspaceAsk = []string{".git", ".git/hooks", ".git/config", ".envrc"}, []string{".vscode"}
}

// deep makes a file and the directories above it.
func (g *ground) deep(name string) {
	g.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(g.w, name)), 0o755); err != nil {
		g.t.Fatal(err)
	}
	g.put(filepath.Join(g.w, name), "before")
}

func TestProtectedWorkspaceFilesStayUnchanged(t *testing.T) {
	g := newGround(t, protecting)
	for _, name := range []string{".git/hooks/a", ".git/config", "sub/.git/config", "plain"} {
		g.deep(name)
	}
	g.link(filepath.Join(g.w, ".git/hooks"), "link")
	for what, err := range map[string]error{
		"write":           g.WriteFile(".git/hooks/new", []byte("x")),
		"overwrite":       g.WriteFile(".git/config", []byte("x")),
		"nested":          g.WriteFile("sub/.git/config", []byte("x")),
		"by a link":       g.WriteFile("link/new", []byte("x")),
		"what is not":     g.WriteFile(".envrc", []byte("x")),
		"move it away":    g.MoveTree(".git", "g", TransferOptions{}),
		"move a parent":   g.MoveTree("sub", "other", TransferOptions{}),
		"move onto it":    g.MoveTree("plain", ".envrc", TransferOptions{}),
		"copy onto it":    g.CopyTree("plain", ".git/config", TransferOptions{Overwrite: true}),
		"delete":          g.RemoveTree(t.Context(), ".git/config", false, nil),
		"delete a parent": g.RemoveTree(t.Context(), "sub", true, nil),
		"delete git":      g.RemoveTree(t.Context(), ".git", true, nil),
		"a git directory": func() error { _, err := g.MakeDir("plain2/.git", 0o755); return err }(),
		"an unknown file": g.WriteFile(".git/configs", []byte("x")),
		"another":         func() error { _, err := g.MakeDir(".git/hooks/x", 0o755); return err }(),
	} {
		refusal := FindRefusal(err)
		if refusal == nil || refusal.Rule != guard.RuleProtect || refusal.Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{".git/index", ".vscode/tasks.json", "sub/file", ".git/MERGE_MSG"} {
		if err := g.WriteFile(name, []byte("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := g.ReadFile(".git/config"); err != nil {
		t.Error("reading:", err)
	}
}

// A directory that is swapped for a link to what is protected leads nowhere.
func TestSwappedPathKeepsProtectedFilesUnchanged(t *testing.T) {
	g := newGround(t, protecting)
	g.deep(".git/hooks/a.sample")
	if err := os.Mkdir(filepath.Join(g.w, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.link(".git/hooks", "l")
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(g.w, "d"), unix.AT_FDCWD, filepath.Join(g.w, "l"),
				unix.RENAME_EXCHANGE)
		}
	})
	wrote := 0
	for i := 0; i < tries()/10 || wrote == 0 && i < 8*tries(); i++ {
		if g.WriteFile("d/post-commit", []byte("evil")) == nil {
			wrote++
		}
	}
	stop.Store(true)
	swapping.Wait()
	if _, err := os.Lstat(filepath.Join(g.w, ".git/hooks/post-commit")); err == nil {
		t.Error("a hook was written")
	}
	if wrote == 0 {
		t.Error("no write succeeded, so nothing was shown")
	}
}
