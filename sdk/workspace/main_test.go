package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ground is a workspace W with a secret O beside it.
type ground struct {
	*Workspace
	t    testing.TB
	w, o string
}

const secret = "what nobody inside may see"

func newGround(t testing.TB, change ...func(*guard.Policy)) *ground {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, w: filepath.Join(dir, "work"), o: filepath.Join(dir, "work2", "secret.txt")}
	for _, d := range []string{g.w, filepath.Dir(g.o)} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g.put(g.o, secret)
	policy := guard.Policy{Workspace: g.w, Restrict: true}
	for _, f := range change {
		f(&policy)
	}
	if g.Workspace, err = OpenWorkspace(policy, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *ground) put(path, content string) {
	g.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) link(target, name string) {
	g.t.Helper()
	if err := os.Symlink(target, filepath.Join(g.w, name)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) contents(path string) string {
	g.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

// untouched fails the test if something outside has changed.
func (g *ground) untouched(after string) {
	g.t.Helper()
	if got := g.contents(g.o); got != secret {
		g.t.Errorf("after %s the secret is %q", after, got)
	}
	entries, err := os.ReadDir(filepath.Dir(g.o))
	if err != nil || len(entries) != 1 {
		g.t.Errorf("after %s there is more outside: %v, %v", after, entries, err)
	}
}

func wantRefused(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, Refused) {
		t.Errorf("%s: the error is %v, not a refusal", what, err)
	}
}
