package hooks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// opened is a session of a real host with hooks, and its workspace.
func openSession(t *testing.T, isolated bool, settings string) (*session.Session, string) {
	t.Helper()
	home := hosttest.TempDir(t)
	file := filepath.Join(home, "config.json")
	text := fmt.Sprintf(`{"isolation": {"enabled": %v}, "hooks": %s}`, isolated, strings.ReplaceAll(settings, "$HOME", home))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	var o HookOptions
	if err := json.Unmarshal(cfg.Hooks(), &o); err != nil {
		t.Fatal(err)
	}
	o.Defaults.Interceptor = patience
	hooks, err := NewHooks(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"), Hooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hooks.Close(t.Context())
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	s, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Policy().WorkspacePath()
}

// eachWall runs a test in a sandbox and without one.
func withAndWithoutSandbox(t *testing.T, f func(t *testing.T, isolated bool)) {
	t.Run("plain", func(t *testing.T) { f(t, false) })
	t.Run("sandbox", func(t *testing.T) {
		if exec.Command("bwrap", "--ro-bind", "/", "/", "true").Run() != nil {
			t.Skip("there is no bubblewrap here that works")
		}
		f(t, true)
	})
}

func callTool(t *testing.T, s *session.Session, tool string, args map[string]any) *session.Result {
	t.Helper()
	return s.Call(t.Context(), tool, encodeJSON(args), nil)
}

// On the way of a real call hooks refuse, change arguments that are decided on anew, and have something told, with no
// more rights than they are granted.
func TestHooksInCall(t *testing.T) {
	withAndWithoutSandbox(t, func(t *testing.T, isolated bool) {
		change := func(from, to string) string {
			return string(encodeJSON(fmt.Sprintf(`python3 -c 'import json,sys
q = json.load(sys.stdin)["tool_input"]
if q["command"] == %q:
    q["command"] = %q
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": q}}))'`, from, to)))
		}
		s, workspace := openSession(t, isolated, `{
			"PreToolUse": [
				{"matcher": "Bash", "hooks": [
					{"type": "command", "command": "grep -q forbidden && { echo not that >&2; exit 2; }; touch touched 2>/dev/null; true"},
					{"type": "command", "command": `+change("echo one", "echo two")+`},
					{"type": "command", "command": `+change("echo three", "rm -rf /")+`}]},
				{"matcher": "Write", "hooks": [{"type": "command", "command": "touch written", "workspace": "rw"},
					{"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'"}]}],
			"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "echo format it >&2; exit 2"}]}]}`)
		if r := callTool(t, s, "exec", map[string]any{"command": "echo forbidden"}); r.Err == nil || r.Err.Message != "not that" ||
			r.Err.Rule != "hooks.PreToolUse[0]" {
			t.Errorf("a refusal: %+v", r.Err)
		}
		if r := callTool(t, s, "exec", map[string]any{"command": "echo one"}); r.Err != nil || !strings.Contains(r.Text, "two") {
			t.Errorf("a change: %+v, %+v", r, r.Err)
		}
		if r := callTool(t, s, "exec", map[string]any{"command": "echo three"}); r.Err == nil || strings.HasPrefix(r.Err.Rule, "hooks") {
			t.Errorf("a change to what the policy refuses: %+v", r.Err)
		}
		if _, err := os.Stat(filepath.Join(workspace, "touched")); err == nil {
			t.Error("a hook with no such grant has written to the workspace")
		}
		if r := callTool(t, s, "write_file", map[string]any{"path": "a", "content": "x"}); r.Err != nil ||
			!strings.HasSuffix(r.Text, "[hook] format it") {
			t.Errorf("after a call: %+v, %+v", r, r.Err)
		}
		if _, err := os.Stat(filepath.Join(workspace, "written")); err != nil {
			t.Errorf("a hook with the grant: %v", err)
		}
		if r := callTool(t, s, "write_file", map[string]any{"path": "/etc/x", "content": "x"}); r.Err == nil ||
			strings.HasPrefix(r.Err.Rule, "hooks") {
			t.Errorf("a hook that allows, of what the policy refuses: %+v", r.Err)
		}
	})
}

func TestProcessesAndGrantsInSession(t *testing.T) {
	withAndWithoutSandbox(t, func(t *testing.T, isolated bool) {
		s, workspace := openSession(t, isolated, `{
			"processes": {"gate": {"command": ["python3", "talker.py"], "intercept": ["before_tool"], "workspace": "rw"}},
			"PreToolUse": [{"matcher": "read_file", "hooks": [{"type": "command", "command": "cat $HOME/config.json && echo open; true"}]},
				{"matcher": "list_dir", "hooks": [{"type": "command", "command": "cat $CLAUDE_PROJECT_DIR/talker.py && exit 2; exit 0", "workspace": "none"}]}],
			"PostToolUse": [{"matcher": "file_stat", "hooks": [{"type": "command", "command": "cat /etc/hosts >/dev/null && test -n \"$MARK\" && echo '{\"decision\":\"block\",\"reason\":\"'$MARK'\"}'", "env": {"MARK": "here"}}]}]}`)
		script(t, workspace, "talker.py", talker)
		w := sessionInfo{dir: workspace}
		setResponse(t, w, `{"action": "deny_tool", "reason": "seen"} if p["arguments"].get("command") == "id" else {"action": "continue"}`)
		for range 2 {
			if r := callTool(t, s, "exec", map[string]any{"command": "id"}); r.Err == nil || r.Err.Message != "seen" {
				t.Errorf("a refusal of a process: %+v", r.Err)
			}
		}
		if methods, _ := receivedMessages(t, w); strings.Join(methods, " ") != "hook.hello hook.before_tool hook.before_tool" {
			t.Errorf("it was told %v", methods)
		}
		if r := callTool(t, s, "list_dir", map[string]any{"path": "."}); r.Err != nil {
			t.Errorf("a hook without the workspace sees it: %+v", r.Err)
		}
		if r := callTool(t, s, "file_stat", map[string]any{"path": "says"}); r.Err != nil || !strings.HasSuffix(r.Text, "[hook] here") {
			t.Errorf("got %+v, %+v", r, r.Err)
		}
	})
}

// What is typed into a background command is a command of its own to hooks, in whatever pieces it comes.
func TestHooksSeeTypedText(t *testing.T) {
	const hook = `{"type": "command", "command": "grep -q deploy || exit 0; echo deploys are for people >&2; exit 2"}`
	exact := encodeJSON(`python3 -c 'import json,sys
sys.exit(2 if json.load(sys.stdin)["tool_input"].get("command") == "make release" else 0)'`)
	for name, settings := range map[string]string{
		"by Claude's name": `{"PreToolUse": [{"matcher": "Bash", "hooks": [` + hook + `]}]}`,
		"by its own name":  `{"PreToolUse": [{"matcher": "exec", "hooks": [` + hook + `]}]}`,
		"as a pattern":     `{"PreToolUse": [{"matcher": "^shell[.]exec$", "hooks": [` + hook + `]}]}`,
		"exactly": `{"PreToolUse": [{"matcher": "Bash", "hooks": [` + hook + `, {"type": "command", "command": ` + string(exact) +
			`}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, workspace := openSession(t, false, settings)
			denied := func(tool string, args map[string]any) bool {
				t.Helper()
				r := callTool(t, s, tool, args)
				if r.Err != nil && r.Err.Rule != "hooks.PreToolUse[0]" {
					t.Fatalf("%s %v: %+v", tool, args, r.Err)
				}
				return r.Err != nil
			}
			background := func(args map[string]any) string {
				args["command"], args["background"] = "sh", true
				r := callTool(t, s, "exec", args)
				var out struct{ Session string }
				if r.Err != nil || json.Unmarshal(r.Structured, &out) != nil {
					t.Fatalf("%+v", r.Err)
				}
				return out.Session
			}
			pipe, terminal := background(map[string]any{}), background(map[string]any{"pty": true})
			write := func(to, data string, more ...string) bool {
				args := map[string]any{"action": "write", "session": to, "data": data}
				for _, name := range more {
					args[name] = true
				}
				return denied("process", args)
			}
			if write(pipe, "echo harmless > a\n") || write(pipe, "echo \\\n") || write(pipe, "two > b\n") {
				t.Error("a harmless line is refused")
			}
			for _, to := range []string{pipe, terminal} {
				if !write(to, "./deploy.sh\n") || !write(to, "cd x\n\n  ./deploy.sh --now") || !write(to, "./deploy.sh", "eof") {
					t.Error("a line is typed")
				}
				if write(to, "echo x; ./dep") || !write(to, "loy.sh\n") || write(to, "end\n") {
					t.Error("a line in pieces is typed")
				}
				if write(to, "./dep\\\n") || !write(to, "loy.sh\n") || write(to, "end\n") {
					t.Error("a continued line is typed")
				}
			}
			if !denied("exec", map[string]any{"command": "sh", "stdin": "true\n./deploy.sh\n"}) {
				t.Error("standard input is typed")
			}
			if name == "exactly" && (!write(terminal, "make release\r") || !denied("exec", map[string]any{"command": "sh",
				"stdin": "make release"})) {
				t.Error("the line is not the command")
			}
			if r := callTool(t, s, "process", map[string]any{"action": "list"}); r.Err != nil {
				t.Errorf("%+v", r.Err)
			}
			hosttest.WaitUntil(t, "harmless lines are run", func() bool {
				text, _ := os.ReadFile(filepath.Join(workspace, "b"))
				return strings.TrimSpace(string(text)) == "two"
			})
		})
	}
}
