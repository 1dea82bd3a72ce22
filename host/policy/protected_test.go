package policy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestHomeIsProtected(t *testing.T) {
	home := tempHome(t)
	p, err := resolveIn(t, home, `{"tools": {"allow_read_paths": ["/"], "allow_write_paths": ["/"]}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.NewGuard(p.GuardPolicy())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"config.json", "plugins/x/plugin.json", "logs/audit.jsonl", "workspace-other/a", "new"} {
		for _, access := range []guard.AccessKind{guard.Read, guard.Write, guard.List, guard.Delete} {
			if d := g.DecidePath(access, filepath.Join(home, path)); d.Verdict != guard.Deny || d.Rule != "workspace.protected" {
				t.Errorf("%s %s: %+v", access, path, d)
			}
		}
		if d := g.DecideCommand(guard.Command{Text: "cp a " + filepath.Join(home, path)}); d.Verdict != guard.Deny {
			t.Errorf("a command may write %s: %+v", path, d)
		}
	}
	for _, path := range []string{filepath.Join(home, "workspace", "a"), filepath.Join(home, "runtime-user-env", "a"),
		"/elsewhere"} {
		if d := g.DecidePath(guard.Write, path); d.Verdict != guard.Allow {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

// An agent that could add a remote would open a host where hosts are taken from git.
func TestNetworkFromGitKeepsRemotes(t *testing.T) {
	p, err := resolveIn(t, tempHome(t), `{"isolation": {"enabled": true}, "network": {"from": ["git"]}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if g := p.GuardPolicy(); !slices.Contains(g.WorkspaceDeny, ".git/config") || slices.Contains(g.WorkspaceAsk, ".git/config") {
		t.Errorf("deny %q, ask %q", g.WorkspaceDeny, g.WorkspaceAsk)
	}
}

func TestPreviewCreatesNothing(t *testing.T) {
	home := tempHome(t)
	cfg := load(t, home, `{}`)
	p, err := PreviewPolicy(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.WorkspacePath()); !os.IsNotExist(err) {
		t.Errorf("the workspace %s: %v", p.WorkspacePath(), err)
	}
	made, err := ResolvePolicy(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest() != made.Digest() {
		t.Errorf("the preview is another policy: %+v, not %+v", p.GuardPolicy(), made.GuardPolicy())
	}
}
