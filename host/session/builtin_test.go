//go:build linux

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// openWith is open with more options.
func openWith(t *testing.T, o session.HostOptions, variables ...string) *session.Host {
	t.Helper()
	home := hosttest.TempDir(t)
	cfg, err := config.Load(config.LoadOptions{Environ: append(variables, "HOME="+home, "PICOCLAW_HOME="+home)})
	if err != nil {
		t.Fatal(err)
	}
	o.Config, o.PluginDir = cfg, filepath.Join(hosttest.ProgramDir(), "plugins")
	h, err := session.OpenHost(o)
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

func openSession(t *testing.T, h *session.Host) *session.Session {
	t.Helper()
	s, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBuiltinToolsAreCheckedAndLogged(t *testing.T) {
	type later struct {
		Command string `json:"command" claim:"command"`
	}
	var called []string
	tool, err := session.NewBuiltinTool("postpone", "Does it later.",
		func(_ context.Context, s *session.Session, in later) (string, error) {
			called = append(called, s.Policy().AgentID()+" "+in.Command)
			return "noted", nil
		})
	if err != nil {
		t.Fatal(err)
	}
	own := session.BuiltinPlugin{ID: "later", Tools: []session.BuiltinTool{tool}}
	var records []audit.Record
	h := openWith(t, session.HostOptions{Builtin: []session.BuiltinPlugin{own}, OnCallEnd: func(r audit.Record, _ *session.Result) { records = append(records, r) }})
	s := openSession(t, h)
	if r := call(t, s, "postpone", map[string]any{"command": "echo x"}); r.Err != nil || r.Text != "noted" {
		t.Fatalf("%+v %v", r, r.Err)
	}
	if r := call(t, s, "later.postpone", map[string]any{"command": "sudo true"}); r.Err == nil || r.Err.Rule == "" {
		t.Errorf("a command that the guard refuses: %+v", r)
	}
	if r := call(t, s, "postpone", map[string]any{"command": "echo x", "other": 1}); r.Err == nil ||
		r.Err.Code != pluginpb.CodeInvalidArgument {
		t.Errorf("an argument that the tool does not take: %+v", r)
	}
	child, err := s.SpawnSession(session.Subagent, policy.Restriction{})
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, child, "postpone", map[string]any{"command": "echo y"}); r.Err != nil {
		t.Error(r.Err)
	}
	if len(called) != 2 || called[0] != "main echo x" || called[1] != "main echo y" {
		t.Errorf("called: %q", called)
	}
	if len(records) != 4 || records[0].Tool != "later.postpone" || records[1].Decision != "deny" ||
		records[3].Parent != s.ID() || records[3].Origin != "subagent" {
		t.Errorf("records: %+v", records)
	}
	_, err = session.OpenHost(session.HostOptions{Config: h.Config(), PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"),
		Builtin: []session.BuiltinPlugin{{ID: "shell"}}})
	if err == nil || !strings.Contains(err.Error(), "shell") {
		t.Errorf("a plugin's id for own tools: %v", err)
	}
}

// hooks says the same of each call.
type hooks struct {
	verdict session.HookVerdict
	after   string
	asked   []session.HookedCall
}

func (h *hooks) Before(_ context.Context, _ *session.Session, c session.HookedCall) session.HookVerdict {
	h.asked = append(h.asked, c)
	return h.verdict
}

func (h *hooks) After(context.Context, *session.Session, session.HookedCall, *session.Result) string {
	return h.after
}

func TestHooksOnlyRestrict(t *testing.T) {
	with := &hooks{}
	s := openSession(t, openWith(t, session.HostOptions{Hooks: with}))
	write := func() *session.Result {
		return call(t, s, "write_file", map[string]any{"path": "a", "content": "a"})
	}
	with.after = "format it"
	if r := write(); r.Err != nil || !strings.HasSuffix(r.Text, "\n[hook] format it") {
		t.Errorf("allowed: %+v", r)
	}
	with.verdict = session.HookVerdict{Deny: "not today", Rule: "hooks.PreToolUse[0]"}
	if r := write(); r.Err == nil || r.Err.Message != "not today" || r.Err.Rule != "hooks.PreToolUse[0]" {
		t.Errorf("denied: %+v", r.Err)
	}
	with.verdict = session.HookVerdict{Ask: "sure?", Rule: "hooks.PreToolUse[0]"}
	if r := write(); r.Err == nil || r.Err.Code != pluginpb.CodeAccessDenied {
		t.Errorf("asked, and there is nobody: %+v", r.Err)
	}
	yes := session.WithApprovalAsker(t.Context(), func(context.Context, session.ApprovalQuestion) bool { return true })
	if r := s.Call(yes, "write_file", json.RawMessage(`{"path":"a","content":"a"}`), nil); r.Err != nil {
		t.Errorf("asked, and the answer is yes: %+v", r.Err)
	}
	with.verdict = session.HookVerdict{Args: json.RawMessage(`{"path":"/etc/passwd","content":"a"}`)}
	if r := write(); r.Err == nil || r.Err.Code != pluginpb.CodeAccessDenied {
		t.Errorf("another path: %+v", r.Err)
	}
	with.verdict = session.HookVerdict{Args: json.RawMessage(`{"path":"b","content":"b"}`)}
	if r := write(); r.Err != nil {
		t.Errorf("another file: %+v", r.Err)
	}
	if r := call(t, s, "read_file", map[string]any{"path": "b"}); r.Err == nil {
		t.Error("content is no argument of read_file")
	}
	with.verdict = session.HookVerdict{}
	if r := call(t, s, "read_file", map[string]any{"path": "b"}); r.Err != nil || !strings.Contains(r.Text, "b") {
		t.Errorf("what was written: %+v %v", r, r.Err)
	}
	asked := len(with.asked)
	if r := call(t, s, "read_file", map[string]any{"path": "/etc/shadow"}); r.Err == nil || len(with.asked) != asked {
		t.Errorf("what the policy refuses is nothing to ask hooks about: %+v", r.Err)
	}
}

func TestStopCancelsRunningCalls(t *testing.T) {
	var refused []string
	h := openWith(t, session.HostOptions{OnCallEnd: func(r audit.Record, _ *session.Result) {
		if r.Rule == "stop" && r.WasDenied() {
			refused = append(refused, r.Tool)
		}
	}})
	home, s := h.Config().Home().Path, openSession(t, h)
	ended := make(chan *session.Result)
	started := filepath.Join(s.Policy().WorkspacePath(), "started")
	go func() {
		ended <- s.Call(context.Background(), "exec", json.RawMessage(`{"command":"touch started; sleep 300"}`), nil)
	}()
	hosttest.WaitUntil(t, "the command runs", func() bool { _, err := os.Stat(started); return err == nil })
	if err := killswitch.StopAgent(home, killswitch.Stop{Agent: "other"}); err != nil {
		t.Fatal(err)
	}
	if r := call(t, s, "list_dir", map[string]any{"path": "."}); r.Err != nil {
		t.Errorf("another agent's stop: %+v", r.Err)
	}
	if err := killswitch.StopAgent(home, killswitch.Stop{By: "me", Why: "it loops"}); err != nil {
		t.Fatal(err)
	}
	r := <-ended
	if r.Err == nil || r.Err.Code != pluginpb.CodeStopped || !strings.Contains(r.Err.Message, "it loops") {
		t.Errorf("the running call: %+v", r.Err)
	}
	if r := call(t, s, "list_dir", map[string]any{"path": "."}); r.Err == nil || r.Err.Code != pluginpb.CodeStopped ||
		!strings.Contains(r.Err.Hint, "picoclaw start") {
		t.Errorf("a new call: %+v", r.Err)
	}
	if !slices.Equal(refused, []string{"filesystem.list_dir"}) {
		t.Errorf("logged as denied: %q; want the new call only", refused)
	}
	if _, err := killswitch.ResumeAgent(home, "main"); err == nil {
		t.Error("one agent was started while all are stopped")
	}
	if was, err := killswitch.ResumeAgent(home, ""); !was || err != nil {
		t.Errorf("start: %v %v", was, err)
	}
	if r := call(t, s, "list_dir", map[string]any{"path": "."}); r.Err != nil {
		t.Errorf("after the start: %+v", r.Err)
	}
}

func TestConfinedProgramRunsIsolated(t *testing.T) {
	for _, isolated := range []string{"true", "false"} {
		t.Run("isolation "+isolated, func(t *testing.T) {
			h := openWith(t, session.HostOptions{}, "PICOCLAW_ISOLATION_ENABLED="+isolated)
			s := openSession(t, h)
			if err := os.WriteFile(filepath.Join(s.Policy().WorkspacePath(), "a"), []byte("content\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			secret := filepath.Join(h.Config().Home().Path, "secret")
			if err := os.WriteFile(secret, []byte("hidden\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", "cat a; echo x > b || echo no; cat "+secret+" || echo no; echo x > $HOME/c && echo yes")
			cmd.Dir, cmd.Stdout, cmd.Env = s.Policy().WorkspacePath(), in, []string{"PATH=/usr/bin:/bin"}
			p, err := s.StartConfinedProgram(session.AgentProgram{Name: "try", Command: cmd, Workspace: "ro"})
			if err != nil {
				t.Fatal(err)
			}
			_ = in.Close()
			var lines []string
			for scanner := bufio.NewScanner(out); scanner.Scan(); {
				lines = append(lines, scanner.Text())
			}
			if exit, err := p.Wait(t.Context()); err != nil || !exit.Success() {
				t.Errorf("%v %v", exit, err)
			}
			if got := strings.Join(lines, " "); got != "content no no yes" {
				t.Errorf("got %q", got)
			}
			_, err = s.StartConfinedProgram(session.AgentProgram{Name: "try", Command: cmd, Secrets: []string{"KEY"}})
			if err == nil || !strings.Contains(err.Error(), "name the hosts") {
				t.Errorf("secrets without hosts: %v", err)
			}
		})
	}
}
