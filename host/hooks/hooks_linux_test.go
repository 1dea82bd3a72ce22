package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{
		"plugins/filesystem/filesystem": "../../plugins/filesystem",
		"plugins/shell/shell":           "../../plugins/shell",
	}, func(dir string) error { return hosttest.WriteManifests(dir, "plugins/filesystem", "plugins/shell") }))
}

// unconfined starts programs that nothing confines. A process has one such isolation.
var unconfined = sync.OnceValues(func() (*isolation.Starter, error) {
	return isolation.NewStarter(isolation.Config{Home: os.TempDir()}, nil)
})

// place is a session whose programs are started in its workspace and confined by nothing.
func newTestSession(t *testing.T) sessionInfo {
	t.Helper()
	iso, err := unconfined()
	if err != nil {
		t.Fatal(err)
	}
	return sessionInfo{session: "s1", agent: "main", dir: hosttest.TempDir(t), start: func(p session.AgentProgram) (*isolation.Process, error) {
		return iso.Start(p.Command, isolation.Profile{Name: p.Name, Exec: true})
	}}
}

// patience is how many milliseconds a process may take that answers at once: a busy machine is long in starting it.
const patience = 60_000

// made makes hooks of settings in JSON, as they stand in a configuration.
func newHooks(t *testing.T, settings string) *Hooks {
	t.Helper()
	home := hosttest.TempDir(t)
	file := filepath.Join(home, "config.json")
	if err := os.WriteFile(file, []byte(`{"hooks": `+settings+`}`), 0o600); err != nil {
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
	o.Defaults.Interceptor = max(o.Defaults.Interceptor, patience)
	h, err := NewHooks(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(context.Background()) })
	return h
}

// hooked makes hooks of one command before calls of any tool.
func newCommandHooks(t *testing.T, command string, more ...string) *Hooks {
	t.Helper()
	return newHooks(t, fmt.Sprintf(`{"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": %s%s}]}]}`,
		encodeJSON(command), strings.Join(append([]string{""}, more...), ", ")))
}

func execCall(command string) session.HookedCall {
	return session.HookedCall{Tool: "shell.exec", Args: encodeJSON(map[string]string{"command": command})}
}

func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A hook that people have: it reads tool_input.command and refuses by exit status 2.
func TestExitStatusRefuses(t *testing.T) {
	w := newTestSession(t)
	check := script(t, w.dir, "check.py", `
import json, os, sys
q = json.load(sys.stdin)
assert q["hook_event_name"] == "PreToolUse" and q["cwd"] == os.environ["CLAUDE_PROJECT_DIR"] == os.getcwd()
if q["tool_name"] == "Bash" and "rm -rf" in q["tool_input"]["command"]:
    print("no recursive deletion here", file=sys.stderr)
    sys.exit(2)
`)
	h := newHooks(t, `{"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "exit 9"}]},
		{"matcher": "Bash|Write", "hooks": [{"type": "command", "command": "python3 `+check+`"}]}]}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" || v.Ask != "" || v.Args != nil {
		t.Errorf("a harmless call: %+v", v)
	}
	v := h.runBeforeCall(t.Context(), w, execCall("rm -rf x"))
	if v.Deny != "no recursive deletion here" || v.Rule != "hooks.PreToolUse[1]" {
		t.Errorf("got %+v", v)
	}
}

// Whatever keeps a hook from answering refuses the call, and the refusal says which hook, what happened and what would
// change it. With on_error open the call goes on.
func TestHookWithoutResponseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ command, more, says string }{
		"crash":         {"echo Traceback >&2; exit 1", "", "exited with 1: Traceback"},
		"missing file":  {"/nowhere/check.sh", "", "could not be run (exit status 127)"},
		"not a program": {"./file", "", "could not be run (exit status 126)"},
		"signal":        {"kill -SEGV $$", "", "was ended by a signal"},
		"unreadable":    {`echo '{"decision": "blo'`, "", "wrote invalid JSON"},
		"named twice":   {`echo '{"decision":"block","decision":"approve"}'`, "", "wrote invalid JSON"},
		"text besides":  {`echo checking; echo '{"decision":"block"}'`, "", "wrote something other than a JSON object"},
		"text":          {"echo hello", "", "wrote something other than a JSON object"},
		"number":        {"echo 42", "", "wrote something other than a JSON object"},
		"string":        {`echo '"deny"'`, "", "wrote something other than a JSON object"},
		"list":          {`echo '[{"decision":"block"}]'`, "", "wrote something other than a JSON object"},
		"null":          {"echo null", "", "wrote something other than a JSON object"},
		"truth":         {"echo true", "", "wrote something other than a JSON object"},
		"two objects":   {`echo '{} {"decision":"block"}'`, "", "wrote invalid JSON"},
		"text behind":   {`echo '{}'; echo done`, "", "wrote invalid JSON"},
		"unknown word":  {`echo '{"decision": "denied"}'`, "", `has the decision "denied"`},
		"other event":   {`echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse"}}'`, "", "responds to PostToolUse"},
		"no object":     {`echo '{"hookSpecificOutput": {"updatedInput": []}}'`, "", "an updatedInput that is not an object"},
		"no milliseconds": {`echo '{"hookSpecificOutput": {"updatedInput": {"command": "ls", "timeout": "soon"}}}'`, "",
			"an updatedInput that can't be read: timeout"},
		"flood":   {"head -c 70000 /dev/zero | tr '\\0' x", "", "wrote more than 65536 bytes"},
		"timeout": {"sleep 1000", `"timeout": 1`, "did not end within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestSession(t)
			if err := os.WriteFile(filepath.Join(w.dir, "file"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			h := newCommandHooks(t, c.command)
			if c.more != "" {
				h = newCommandHooks(t, c.command, c.more)
			}
			v := h.runBeforeCall(t.Context(), w, execCall("ls"))
			if !strings.Contains(v.Deny, "the hook hooks.PreToolUse[0]") || !strings.Contains(v.Deny, c.says) ||
				v.Rule != "hooks.PreToolUse[0]" || !strings.Contains(v.Hint, `set hooks.on_error to "open"`) {
				t.Errorf("got %+v", v)
			}
			h.failOpen = true
			if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" || v.Ask != "" {
				t.Errorf("open: %+v", v)
			}
		})
	}
}

func TestUnstartableHookRefuses(t *testing.T) {
	w := newTestSession(t)
	w.start = func(session.AgentProgram) (*isolation.Process, error) { return nil, fmt.Errorf("bwrap is missing") }
	if v := newCommandHooks(t, "true").runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "could not be started: bwrap is missing") {
		t.Errorf("got %+v", v)
	}
}

// A hook that hangs is ended with all that it has started, also what no longer belongs to it.
func TestTimeoutKillsHookAndDescendants(t *testing.T) {
	w := newTestSession(t)
	var data []byte
	seconds := 1 // on a busy machine its child may take longer to start
	hosttest.WaitUntil(t, "the hook has a child in time", func() bool {
		h := newCommandHooks(t, "setsid sleep 1000 & echo $! > child.new; mv child.new child; wait",
			fmt.Sprintf(`"timeout": %d`, seconds))
		says := fmt.Sprintf("did not end within %ds", seconds)
		if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, says) {
			t.Errorf("got %+v", v)
		}
		seconds *= 2
		var err error
		data, err = os.ReadFile(filepath.Join(w.dir, "child"))
		return err == nil
	})
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the hook's child ends", func() bool { return !hosttest.IsProcessAlive(pid) })
}

// A hook is not waited for when its call is cancelled, and neither is the call made.
func TestCancelledCallKillsHooks(t *testing.T) {
	w := newTestSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	h := newCommandHooks(t, "touch begun; sleep 1000")
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(w.dir, "begun")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if v := h.runBeforeCall(ctx, w, execCall("ls")); !strings.Contains(v.Deny, "was not waited for") {
		t.Errorf("got %+v", v)
	}
}

// A hook need not read what it is told, however long that is, and what is too long refuses.
func TestHookInputSize(t *testing.T) {
	w := newTestSession(t)
	long := execCall(strings.Repeat("x", 500<<10))
	if v := newCommandHooks(t, "exit 0").runBeforeCall(t.Context(), w, long); v.Deny != "" {
		t.Errorf("one that reads nothing: %+v", v)
	}
	if v := newCommandHooks(t, `test "$(wc -c)" -gt 512000`).runBeforeCall(t.Context(), w, long); v.Deny != "" {
		t.Errorf("one that reads all: %+v", v)
	}
	if v := newCommandHooks(t, "exit 0").runBeforeCall(t.Context(), w, execCall(strings.Repeat("x", 1<<20))); !strings.Contains(v.Deny, "can't be sent") {
		t.Errorf("too much: %+v", v)
	}
}

// Hooks that match run at once, and the strictest answer counts: of several refusals the first in the settings.
func TestStrictestResponseWins(t *testing.T) {
	const allow, ask, deny = `echo '{"hookSpecificOutput":{"permissionDecision":"allow","permissionDecisionReason":"fine"}}'`,
		`echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`,
		`echo '{"decision":"block","reason":"no"}'`
	// each waits for the other one, so they only end if they run at once
	const meet = `touch $0; while ! [ -e a -a -e b ]; do sleep 0.01; done; `
	for name, c := range map[string]struct {
		one, two string
		want     session.HookVerdict
	}{
		"allow is no answer": {allow, allow + " # 2", session.HookVerdict{}},
		"ask":                {allow, ask, session.HookVerdict{Ask: "sure?", Rule: "hooks.PreToolUse[1]"}},
		"deny":               {ask, deny, session.HookVerdict{Deny: "no", Rule: "hooks.PreToolUse[1]"}},
		"first":              {deny, deny + " # 2", session.HookVerdict{Deny: "no", Rule: "hooks.PreToolUse[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestSession(t)
			one, two := strings.ReplaceAll(meet, "$0", "a")+c.one, strings.ReplaceAll(meet, "$0", "b")+c.two
			h := newHooks(t, fmt.Sprintf(`{"PreToolUse": [{"hooks": [{"type": "command", "command": %s}]},
				{"matcher": "^Ba", "hooks": [{"type": "command", "command": %s}]}]}`, encodeJSON(one), encodeJSON(two)))
			v := h.runBeforeCall(t.Context(), w, execCall("ls"))
			if v.Deny != c.want.Deny || v.Ask != c.want.Ask || v.Rule != c.want.Rule {
				t.Errorf("got %+v, want %+v", v, c.want)
			}
		})
	}
}

func TestEqualCommandsRunOnce(t *testing.T) {
	w := newTestSession(t)
	h := newHooks(t, `{"PreToolUse": [{"hooks": [{"type": "command", "command": "echo x >> ran"}]},
		{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo x >> ran"}]}]}`)
	h.runBeforeCall(t.Context(), w, execCall("ls"))
	if data, _ := os.ReadFile(filepath.Join(w.dir, "ran")); string(data) != "x\n" {
		t.Errorf("ran %q", data)
	}
}

func TestUpdatedInputBecomesToolArguments(t *testing.T) {
	w := newTestSession(t)
	h := newCommandHooks(t, `jq '{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "allow",
		updatedInput: (.tool_input + {command: ("timeout 5 " + .tool_input.command)})}}'`)
	if _, err := exec.LookPath("jq"); err != nil {
		h = newCommandHooks(t, `python3 -c 'import json, sys
q = json.load(sys.stdin)["tool_input"]; q["command"] = "timeout 5 " + q["command"]
print(json.dumps({"hookSpecificOutput": {"updatedInput": q}}))'`)
	}
	v := h.runBeforeCall(t.Context(), w, session.HookedCall{Tool: "shell.exec", Args: json.RawMessage(`{"command": "ls", "timeout": 7, "cwd": "a"}`)})
	if !equalJSON(v.Args, json.RawMessage(`{"command": "timeout 5 ls", "timeout": 7, "cwd": "a"}`)) {
		t.Errorf("got %s, %+v", v.Args, v)
	}
}

// Two hooks that change the arguments in different ways can't both have their way.
func TestConflictingChangesRefuse(t *testing.T) {
	w := newTestSession(t)
	change := func(to string) string {
		return string(encodeJSON(`echo '{"hookSpecificOutput":{"updatedInput":{"command":"` + to + `"}}}'`))
	}
	for to, denied := range map[string]bool{"one": false, "two": true} {
		h := newHooks(t, `{"PreToolUse": [{"hooks": [{"type": "command", "command": `+change("one")+`},
			{"type": "command", "command": `+strings.Replace(change(to), "echo", "echo  ", 1)+`}]}]}`)
		if v := h.runBeforeCall(t.Context(), w, execCall("ls")); (v.Deny != "") != denied {
			t.Errorf("%s: %+v", to, v)
		}
	}
}

// An agent that names several files in one call has each of them looked at.
func TestMultiFileEditRunsHookPerFile(t *testing.T) {
	w := newTestSession(t)
	h := newHooks(t, `{"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command",
		"command": "python3 -c 'import json,sys; p=json.load(sys.stdin)[\"tool_input\"][\"file_path\"]; sys.exit(2 if p.endswith(\".env\") else 0)'"}]}]}`)
	edit := func(args string) session.HookedCall {
		return session.HookedCall{Tool: "filesystem.edit_file", Args: json.RawMessage(args)}
	}
	for args, denied := range map[string]bool{
		`{"path": "a", "old_text": "x", "new_text": "y"}`:                                                                  false,
		`{"path": ".env", "old_text": "x", "new_text": "y"}`:                                                               true,
		`{"edits": [{"path": "a", "old_text": "x", "new_text": "y"}]}`:                                                     false,
		`{"edits": [{"path": ".env", "old_text": "x", "new_text": "y"}]}`:                                                  true,
		`{"path": "a", "edits": [{"old_text": "x", "new_text": "y"}, {"path": ".env", "old_text": "x", "new_text": "y"}]}`: true,
	} {
		if v := h.runBeforeCall(t.Context(), w, edit(args)); (v.Deny != "") != denied {
			t.Errorf("%s: %+v", args, v)
		}
	}
}

func TestPostToolUseTextReachesModel(t *testing.T) {
	w := newTestSession(t)
	h := newHooks(t, `{"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "python3 check.py"}]},
		{"hooks": [{"type": "command", "command": "exit 1"}]}]}`)
	script(t, w.dir, "check.py", `
import json, sys
q = json.load(sys.stdin)
r = q["tool_response"]
print(json.dumps({"decision": "block", "reason": "not formatted: " + r["filePath"],
    "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "said " + r["content"]}}))
`)
	c := session.HookedCall{Tool: "filesystem.write_file", Args: json.RawMessage(`{"path": "a.go", "content": "x"}`)}
	if got := h.runAfterCall(t.Context(), w, c, &session.Result{Text: "written"}); got != "not formatted: "+w.dir+"/a.go\nsaid written" {
		t.Errorf("got %q", got)
	}
	if got := h.runAfterCall(t.Context(), w, c, &session.Result{Err: &session.Error{Message: "no"}}); got != "" {
		t.Errorf("after a call that failed: %q", got)
	}
}

func TestPromptAndSessionHooks(t *testing.T) {
	w := newTestSession(t)
	on := func(settings string, o EventData) EventVerdict {
		return newHooks(t, settings).runEvent(t.Context(), w, o)
	}
	for name, c := range map[string]struct {
		event, command string
		occasion       EventData
		want           EventVerdict
	}{
		"context":       {"UserPromptSubmit", "echo it is Monday", EventData{Prompt: "hi"}, EventVerdict{Context: "it is Monday"}},
		"a prompt":      {"UserPromptSubmit", `grep -q '"prompt":"my secret"' && { echo no secrets >&2; exit 2; }; true`, EventData{Prompt: "my secret"}, EventVerdict{HookVerdict: session.HookVerdict{Deny: "no secrets"}}},
		"startup":       {"SessionStart", "echo branch main", EventData{Source: "startup"}, EventVerdict{Context: "branch main"}},
		"an end":        {"SessionEnd", "exit 1", EventData{Reason: "other"}, EventVerdict{}},
		"go on":         {"Stop", `echo '{"decision":"block","reason":"run the tests"}'`, EventData{}, EventVerdict{HookVerdict: session.HookVerdict{Deny: "run the tests"}}},
		"not twice":     {"Stop", `grep -q '"stop_hook_active":true' || exit 2`, EventData{Active: true}, EventVerdict{}},
		"stop":          {"Stop", `echo '{"continue":false,"stopReason":"enough"}'`, EventData{}, EventVerdict{Stop: true}},
		"of a subagent": {"SubagentStop", "echo more >&2; exit 2", EventData{AgentType: "a"}, EventVerdict{HookVerdict: session.HookVerdict{Deny: "more"}}},
		"the turn":      {"UserPromptSubmit", `echo '{"continue":false,"stopReason":"enough"}'`, EventData{}, EventVerdict{HookVerdict: session.HookVerdict{Deny: "enough"}, Stop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.occasion.Event = HookEvent(c.event)
			v := on(fmt.Sprintf(`{%q: [{"hooks": [{"type": "command", "command": %s}]}]}`, c.event, encodeJSON(c.command)), c.occasion)
			if v.Deny != c.want.Deny || v.Context != c.want.Context || v.Stop != c.want.Stop {
				t.Errorf("got %+v, want %+v", v, c.want)
			}
		})
	}
	if v := on(`{"SessionStart": [{"matcher": "resume", "hooks": [{"type": "command", "command": "echo x"}]}]}`,
		EventData{Event: SessionStart, Source: "startup"}); v.Context != "" {
		t.Errorf("another source: %+v", v)
	}
}

func TestNilHooks(t *testing.T) {
	for _, settings := range []string{`{}`, `{"enabled": false, "Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}`} {
		h := newHooks(t, settings)
		if h != nil {
			t.Errorf("%s: there are hooks", settings)
		}
		if v := h.Before(t.Context(), nil, execCall("ls")); v.Deny != "" {
			t.Errorf("got %+v", v)
		}
	}
}
