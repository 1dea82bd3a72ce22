package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home makes an instance root with a workspace in it and what binds an agent beside that.
func home(t *testing.T) (root, ws string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"workspace", "workspace-other", "plugins", "logs", "runtime-user-env/tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "config.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root, filepath.Join(root, "workspace")
}

func TestProtectedBeatsWhitelists(t *testing.T) {
	root, ws := home(t)
	env := filepath.Join(root, "runtime-user-env")
	wide := Policy{Workspace: ws, Restrict: true, AllowReadOutside: true, AllowReadPaths: []string{"/"},
		AllowWritePaths: []string{"/"},
		Exec:            ExecPolicy{DenyPatterns: true}}
	open := mustNew(t, wide)
	wide.Protected, wide.Unprotected = []string{root}, []string{env}
	g := mustNew(t, wide)
	link(t, root, filepath.Join(ws, "up"))
	for _, path := range []string{root, root + "/config.json", root + "/new.json", root + "/plugins/x",
		root + "/logs/audit.jsonl", root + "/workspace-other/a"} {
		for _, a := range []AccessKind{Read, Write, List, Delete} {
			if d := open.DecidePath(a, path); d.Verdict != Allow && path != root {
				t.Errorf("without protection %s %s: %+v", a, path, d)
			}
			if d := g.DecidePath(a, path); d.Verdict != Deny || d.Rule != "workspace.protected" || d.Hint == "" {
				t.Errorf("%s %s: %+v", a, path, d)
			}
		}
		for _, command := range []string{"cat " + path, "echo x > " + path, "cp a " + path, "ls " + path, "mv " + path + " a",
			"tool --out=" + path} {
			if d := open.DecideCommand(Command{Text: command}); d.Verdict != Allow && path != root {
				t.Errorf("without protection %s: %+v", command, d)
			}
			if d := g.DecideCommand(Command{Text: command}); d.Verdict != Deny || d.Rule != "workspace.protected" {
				t.Errorf("%s: %+v", command, d)
			}
		}
	}
	for _, path := range []string{"up/config.json", "../config.json"} {
		if d := g.DecidePath(Read, path); d.Verdict != Deny || d.Rule != "workspace.protected" {
			t.Errorf("%s: %+v", path, d)
		}
	}
	if d := g.DecidePath(Delete, filepath.Dir(root)); d.Verdict != Deny {
		t.Errorf("what holds the protected directory may be deleted: %+v", d)
	}
	for _, path := range []string{ws + "/a", env + "/tmp/x", filepath.Dir(root) + "/elsewhere"} {
		if d := g.DecidePath(Write, path); d.Verdict != Allow {
			t.Errorf("%s: %+v", path, d)
		}
	}
	wide.Restrict = false
	if d := mustNew(t, wide).DecidePath(Write, root+"/config.json"); d.Verdict != Allow {
		t.Errorf("an agent that nothing restricts: %+v", d)
	}
}

func TestProtectedMustBeAbsolute(t *testing.T) {
	_, ws := home(t)
	if _, err := NewGuard(Policy{Workspace: ws, Protected: []string{"a"}}); err == nil {
		t.Error("a relative protected path was taken")
	}
}

func TestProtectedPathNeedsApproval(t *testing.T) {
	_, ws := home(t)
	g := mustNew(t, Policy{Workspace: ws, Restrict: true, WorkspaceDeny: []string{".git", ".git/hooks", ".envrc"},
		WorkspaceAsk: []string{".git/config", ".vscode"}})
	for _, c := range []struct {
		named   []string
		verdict Verdict
		reason  string
	}{
		{nil, Allow, ""},
		{[]string{".vscode/tasks.json", ".git/config"}, Ask, "may change .vscode/tasks.json, .git/config"},
		{[]string{".vscode", ".envrc"}, Deny, ".envrc is protected"},
		{[]string{".git/hooks/x"}, Deny, ".git/hooks is protected"},
		{[]string{"."}, Deny, ""}, {[]string{"src"}, Deny, "src is not protected"}, {[]string{"../x"}, Deny, "outside"},
	} {
		if d := g.DecideDeclaredProtectedFiles(c.named); d.Verdict != c.verdict || !strings.Contains(d.Reason, c.reason) {
			t.Errorf("%q: %+v", c.named, d)
		}
	}
}
