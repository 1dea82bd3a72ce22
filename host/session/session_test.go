//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == plainID {
		sdk.Main(plainPlugin())
		return
	}
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{
		"plugins/filesystem/filesystem": "../../plugins/filesystem",
		"plugins/shell/shell":           "../../plugins/shell",
	}, func(dir string) error { return hosttest.WriteManifests(dir, "plugins/filesystem", "plugins/shell") }))
}

func open(t *testing.T, variables ...string) *session.Host {
	t.Helper()
	home := hosttest.TempDir(t)
	cfg, err := config.Load(config.LoadOptions{Environ: append(variables, "HOME="+home, "PICOCLAW_HOME="+home)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// call is one call in the request pipeline. Each step reads and sets named fields; only the goroutine that runs the
// pipeline uses them.
func call(t *testing.T, s *session.Session, tool string, args map[string]any) *session.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return s.Call(t.Context(), tool, raw, nil)
}

func TestSpawnedSessionIsNarrower(t *testing.T) {
	h := open(t, "PICOCLAW_ISOLATION_ENABLED=true")
	parent, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/inside", "beside"} {
		if r := call(t, parent, "write_file", map[string]any{"path": name, "content": name}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for _, origin := range []session.Origin{session.Subagent, session.Heartbeat, session.Cron} {
		child, err := parent.SpawnSession(origin, policy.Restriction{Workspace: "sub"})
		if err != nil {
			t.Fatal(err)
		}
		if r := call(t, child, "read_file", map[string]any{"path": "inside"}); r.Err != nil || r.Text != "sub/inside" {
			t.Errorf("%s: %q, %v", origin, r.Text, r.Err)
		}
		for tool, args := range map[string]map[string]any{
			"read_file":  {"path": "../beside"},
			"write_file": {"path": "../new", "content": "x"},
		} {
			if r := call(t, child, tool, args); r.Err == nil {
				t.Errorf("%s: %s %v works", origin, tool, args)
			}
		}
		// The guard can't see into this; the kernel's wall is the child's, too.
		r := call(t, child, "exec", map[string]any{"command": `p=besid; sh -c "ls \$PWD/.$(printf .)/${p}e; cat ../beside"`})
		if strings.Contains(r.Text, "beside\n") && !strings.Contains(r.Text, "No such file") {
			t.Errorf("%s: the kernel let out %q", origin, r.Text)
		}
		if _, err := child.SpawnSession(origin, policy.Restriction{Workspace: parent.Policy().WorkspacePath()}); err == nil {
			t.Errorf("%s: a grandchild has the grandparent's workspace", origin)
		}
	}
}

func TestExplainMatchesCall(t *testing.T) {
	h := open(t)
	s, err := h.OpenSession("", session.CLI)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]guard.Verdict{
		`{"path":"a"}`:           guard.Allow,
		`{"path":"/etc/passwd"}`: guard.Deny,
		`{"path":"../x"}`:        guard.Deny,
	} {
		d, e := s.ExplainCall("read_file", json.RawMessage(args))
		if e != nil || d.Verdict != want || want == guard.Deny && (d.Rule == "" || d.Reason == "" || d.Hint == "") {
			t.Errorf("%s: %+v, %v", args, d, e)
		}
		r := s.Call(t.Context(), "read_file", json.RawMessage(args), nil)
		if denied := r.Err != nil && r.Err.Code == "access_denied"; denied != (want == guard.Deny) {
			t.Errorf("%s: explained as %v, called: %v", args, d.Verdict, r.Err)
		}
	}
	// Where the command starts and what it finds are part of the decision.
	if d, e := s.ExplainCall("exec", json.RawMessage(`{"command":"ls","cwd":".."}`)); e != nil || d.Verdict != guard.Deny {
		t.Errorf("a directory outside: %+v, %v", d, e)
	}
}

func TestSpawnedSessionKeepsCommandRules(t *testing.T) {
	h := open(t, `PICOCLAW_TOOLS_EXEC_RULES=[{"id": "own", "programs": "mytool", "why": "does it", "hit": ["mytool"]}]`)
	parent, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	child, err := parent.SpawnSession(session.Subagent, policy.Restriction{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session.Session{parent, child} {
		d, e := s.ExplainCall("exec", json.RawMessage(`{"command":"true && mytool"}`))
		if e != nil || d.Verdict != guard.Deny || d.Rule != "own" || d.File != "PICOCLAW_TOOLS_EXEC_RULES" {
			t.Errorf("%+v, %v", d, e)
		}
	}
}

func TestProtectedPathNeedsApproval(t *testing.T) {
	for _, isolated := range []string{"true", "false"} {
		h := open(t, "PICOCLAW_ISOLATION_ENABLED="+isolated)
		s, err := h.OpenSession("", session.CLI)
		if err != nil {
			t.Fatal(err)
		}
		if r := call(t, s, "write_file", map[string]any{"path": "s.sh", "content": "echo a > .gitlab-ci.yml; echo b > .envrc"}); r.Err != nil {
			t.Fatal(r.Err)
		}
		script := map[string]any{"path": "t.sh", "content": "echo a > Jenkinsfile; echo b > .travis.yml"}
		if r := call(t, s, "write_file", script); r.Err != nil {
			t.Fatal(r.Err)
		}
		asked := 0
		with := func(agrees bool, tool string, args map[string]any) *session.Result {
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			ctx := session.WithApprovalAsker(t.Context(), func(_ context.Context, q session.ApprovalQuestion) bool {
				asked++
				if q.Decision.Rule != guard.RuleProtect {
					t.Errorf("asked about %s", q.Decision.Rule)
				}
				return agrees
			})
			return s.Call(ctx, tool, raw, nil)
		}
		there := func(name string) bool {
			_, err := os.Lstat(filepath.Join(s.Policy().WorkspacePath(), name))
			return err == nil
		}
		file := map[string]any{"path": ".vscode/tasks.json", "content": "{}"}
		for _, test := range []struct {
			what   string
			r      func() *session.Result
			path   string
			change bool
			asks   int
		}{
			{"with nobody to ask", func() *session.Result { return call(t, s, "write_file", file) }, ".vscode", false, 0},
			{"refused", func() *session.Result { return with(false, "write_file", file) }, ".vscode", false, 1},
			{"agreed", func() *session.Result { return with(true, "write_file", file) }, ".vscode/tasks.json", true, 1},
			{"a script, without a word of it", func() *session.Result {
				return with(true, "exec", map[string]any{"command": "sh s.sh"})
			}, ".gitlab-ci.yml", false, 0},
			{"a script and a word", func() *session.Result {
				return with(true, "exec", map[string]any{"command": "sh s.sh; touch .gitlab-ci.yml"})
			}, ".gitlab-ci.yml", true, 1},
			{"a name in protected_paths", func() *session.Result {
				return with(true, "exec", map[string]any{"command": "sh t.sh; true", "protected_paths": []string{"Jenkinsfile"}})
			}, "Jenkinsfile", true, 1},
			{"which does not cover another file", func() *session.Result { return nil }, ".travis.yml", false, 0},
			{"a refused name", func() *session.Result {
				return with(false, "exec", map[string]any{"command": "sh t.sh; true", "protected_paths": []string{".travis.yml"}})
			}, ".travis.yml", false, 1},
			{"a denied name", func() *session.Result {
				return with(true, "exec", map[string]any{"command": "sh s.sh; true", "protected_paths": []string{".envrc"}})
			}, ".envrc", false, 0},
			{"which does not open what is denied", func() *session.Result { return nil }, ".envrc", false, 0},
			{"denied", func() *session.Result {
				return with(true, "write_file", map[string]any{"path": ".envrc", "content": "x"})
			}, ".envrc", false, 0},
		} {
			asked = 0
			r := test.r()
			if there(test.path) != test.change || asked != test.asks {
				t.Errorf("isolated %s, %s: %v; asked %d times; %+v", isolated, test.what, there(test.path), asked, r)
			}
		}
	}
}

func TestDelegateKeepsRestrictions(t *testing.T) {
	h := open(t, `PICOCLAW_AGENTS_AGENTS=[{"id": "main", "workspace": "~/w"}, {"id": "same", "workspace": "~/w"}, `+
		`{"id": "inside", "workspace": "~/w/sub/deep"}, {"id": "far", "workspace": "~/far"}]`)
	wide, err := h.OpenSession("main", session.MCP)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/deep/a", "beside"} {
		if r := call(t, wide, "write_file", map[string]any{"path": name, "content": name}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	narrow, err := wide.SpawnSession(session.MCP, policy.Restriction{Workspace: "sub", Paths: []string{"sub"}})
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(wide.Policy().WorkspacePath(), "beside")
	for agent, file := range map[string]string{"same": "deep/a", "inside": "a"} {
		other, err := narrow.DelegateSession(agent)
		if err != nil {
			t.Fatal(err)
		}
		if r := call(t, other, "read_file", map[string]any{"path": file}); r.Err != nil || r.Text != "sub/deep/a" {
			t.Errorf("%s: %q, %v", agent, r.Text, r.Err)
		}
		if r := call(t, other, "read_file", map[string]any{"path": beside}); r.Err == nil {
			t.Errorf("%s reads %q", agent, r.Text)
		}
	}
	if other, err := narrow.DelegateSession("far"); err == nil {
		t.Errorf("an agent elsewhere works in %s", other.Policy().WorkspacePath())
	}
	if other, err := wide.DelegateSession("far"); err != nil || other.Policy().Restriction().Paths != nil {
		t.Errorf("an agent of a session that is not narrowed: %v", err)
	}
}

func TestNarrowedSessionHidesOtherCommands(t *testing.T) {
	h := open(t)
	wide, err := h.OpenSession("", session.MCP)
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, wide, "write_file", map[string]any{"path": "sub/a", "content": "a"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	narrow, err := wide.SpawnSession(session.MCP, policy.Restriction{Workspace: "sub", Paths: []string{"sub"}})
	if err != nil {
		t.Fatal(err)
	}
	started := call(t, wide, "exec", map[string]any{"command": "cat > typed", "background": true})
	var out struct{ Session string }
	if started.Err != nil || json.Unmarshal(started.Structured, &out) != nil {
		t.Fatal(started.Err)
	}
	if r := call(t, narrow, "process", map[string]any{"action": "list"}); r.Err != nil || strings.Contains(r.Text, "cat") {
		t.Errorf("it lists %s, %v", r.Text, r.Err)
	}
	for _, action := range []string{"poll", "write", "signal", "kill"} {
		if r := call(t, narrow, "process", map[string]any{"action": action, "session": out.Session, "data": "x\n"}); r.Err == nil {
			t.Errorf("%s: %s", action, r.Text)
		}
	}
	if r := call(t, wide, "process", map[string]any{"action": "list"}); !strings.Contains(r.Text, "running") {
		t.Errorf("it is not running: %s", r.Text)
	}
}
