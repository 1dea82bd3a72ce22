package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// claudeEvent returns the event that Claude Code sends its hook before a call.
func claudeEvent(dir, tool string, input map[string]any) string {
	text, _ := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": dir, "session_id": "s"})
	return string(text)
}

// askInside runs the hook inside a run for each event, and returns the answers.
func (p *project) askInside(t *testing.T, flags []string, events ...string) []string {
	t.Helper()
	dir := filepath.Join(p.dir, "events")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script := ""
	for i, event := range events {
		name := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(name, []byte(event), 0o600); err != nil {
			t.Fatal(err)
		}
		script += hosttest.ProgramPath("bin/picoclaw") + " hook claude < " + name + " || echo failed; echo ==\n"
	}
	out, stderr, code := p.run(script, flags...)
	answers := strings.Split(strings.TrimSuffix(out, "==\n"), "==\n")
	if code != 0 || len(answers) != len(events) {
		t.Fatalf("exit code %d, %q: %s", code, answers, stderr)
	}
	return answers
}

// Inside a run the hook has the host decide, and the host notes each call.
func TestHookInsideRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cases := []struct{ tool, argument, value, want string }{
		{"Bash", "command", "ls -l", ""},
		{"Bash", "command", "git push origin main", "exec.git-push"},
		{"Write", "file_path", "inner/new.txt", ""},
		{"Write", "file_path", p.dir + "/.git/hooks/post-commit", "workspace.protect"},
		{"Write", "file_path", "/etc/profile", "workspace.outside"},
		{"Read", "file_path", "/usr/include/stdio.h", ""},
		{"Read", "file_path", p.home + "/config.json", "workspace"},
		{"Read", "file_path", "/var/lib/other/.netrc", "workspace.outside"},
		{"Edit", "wrong", "x", "Edit has no file_path"},
		{"TodoWrite", "todos", "x", ""},
	}
	var events []string
	for _, c := range cases {
		events = append(events, claudeEvent(p.dir, c.tool, map[string]any{c.argument: c.value}))
	}
	for i, answer := range p.askInside(t, nil, events...) {
		c := cases[i]
		if c.want == "" && answer != "" || c.want != "" && (!strings.Contains(answer, c.want) || !strings.Contains(answer, `"permissionDecision":"deny"`)) {
			t.Errorf("%s %s: answer %q, want one with %q", c.tool, c.value, answer, c.want)
		}
	}
	entries := p.picoclaw("audit", "--output", "json").mustRun(t)
	for _, want := range []string{`"tool":"claude.Bash"`, `"origin":"run"`, `"rule":"exec.git-push"`, `"tool":"claude.TodoWrite"`} {
		if !strings.Contains(entries, want) {
			t.Errorf("the audit log lacks %s:\n%s", want, entries)
		}
	}
}

// A hook that reaches no supervisor denies.
func TestHookWithoutSupervisorDenies(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, variable := range map[string]string{"inside": "PICOCLAW_HOOK_SOCKET=/nowhere", "outside": "PICOCLAW_HOME=" + p.dir + "/a-file"} {
		if err := os.WriteFile(filepath.Join(p.dir, "a-file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := p.picoclaw("hook", "claude")
		cmd.Env = append(cmd.Env, variable)
		cmd.Stdin = strings.NewReader(claudeEvent(p.dir, "Bash", map[string]any{"command": "ls"}))
		if out := cmd.mustRun(t); !strings.Contains(out, `"permissionDecision":"deny"`) {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// A stopped agent's client makes no calls outside a run either.
func TestHookOfStoppedAgentDenies(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ask := func() string {
		cmd := p.picoclaw("hook", "claude")
		cmd.Stdin = strings.NewReader(claudeEvent(p.dir, "Bash", map[string]any{"command": "ls"}))
		return cmd.mustRun(t)
	}
	if out := ask(); out != "" {
		t.Errorf("before: %q", out)
	}
	p.picoclaw("stop", "--why", "lunch").mustRun(t)
	if out := ask(); !strings.Contains(out, "stopped") || !strings.Contains(out, "lunch") {
		t.Errorf("stopped: %q", out)
	}
}

// A program that speaks to the socket itself can't write entries of picoclaw's own tools.
func TestForgedQuestionsAreDenied(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	out, stderr, code := p.run(`python3 -c '
import json, os, socket
for tool in ["shell.exec", "exec", "claude.", "claude." + "x" * 300, "claude.Bash"]:
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PICOCLAW_HOOK_SOCKET"])
    s.sendall(json.dumps({"Tool": tool, "Args": {"forged": tool[:20]}}).encode() + b"\n")
    print(json.loads(s.recv(100000))["verdict"])
for text in [b"", b"[]\n", b"{", b"\x00" * 500000 + b"\n"]:
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PICOCLAW_HOOK_SOCKET"])
    try: s.sendall(text); s.shutdown(socket.SHUT_WR); s.recv(10)
    except OSError: pass
print("alive")'`)
	if want := "deny\ndeny\ndeny\ndeny\nallow\nalive\n"; code != 0 || out != want {
		t.Errorf("exit code %d, %q, want %q: %s", code, out, want, stderr)
	}
	if entries := p.picoclaw("audit", "--output", "json").mustRun(t); strings.Count(entries, `"args":{"forged":`) != 1 {
		t.Errorf("entries of forged tools:\n%s", entries)
	}
}
