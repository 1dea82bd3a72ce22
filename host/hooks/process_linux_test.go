package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// talker is a process of a hook's that answers as the file named by its first argument says, a Python expression of
// the method m and the parameters p, and notes what it is told.
const talker = `
import json, os, sys
notes = open("told", "a")
for line in sys.stdin:
    q = json.loads(line)
    m, p, i = q["method"], q.get("params"), q.get("id")
    notes.write(json.dumps({"method": m, "params": p, "pid": os.getpid()}) + "\n")
    notes.flush()
    if i is None:
        continue
    if m == "hook.hello" and not os.path.exists("mute"):
        print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {"ok": True, "name": "talker"}}), flush=True)
        continue
    said = eval(open("says").read())
    if isinstance(said, str):
        print(said, flush=True)
    elif isinstance(said, int):
        os._exit(said)
    elif said is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": i, "result": said}), flush=True)
`

// talking is a place with the talker in it, and hooks of one process that intercepts points.
func newRespondingProcess(t *testing.T, says, points string, more ...string) (*Hooks, sessionInfo) {
	t.Helper()
	w := newTestSession(t)
	script(t, w.dir, "talker.py", talker)
	setResponse(t, w, says)
	return newHooks(t, fmt.Sprintf(`{"processes": {"gate": {"enabled": true, "command": ["python3", "talker.py"], "intercept": [%s]%s}}}`,
		points, strings.Join(append([]string{""}, more...), ", "))), w
}

func setResponse(t *testing.T, w sessionInfo, says string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "says"), []byte(says), 0o644); err != nil {
		t.Fatal(err)
	}
}

// told is what the talker has noted.
func receivedMessages(t *testing.T, w sessionInfo) (methods []string, all []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "told"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var one map[string]any
		if json.Unmarshal([]byte(line), &one) == nil {
			all = append(all, one)
			methods = append(methods, one["method"].(string))
		}
	}
	return methods, all
}

func TestProcessResponses(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		want EventVerdict
	}{
		"continue": {`{"action": "continue"}`, EventVerdict{}},
		"modify": {`{"action": "modify", "call": {"tool": "exec", "arguments": {"command": "ls -l"}}}`,
			EventVerdict{HookVerdict: session.HookVerdict{Args: json.RawMessage(`{"command": "ls -l"}`)}}},
		"deny":  {`{"action": "deny_tool", "reason": "no"}`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "no"}}},
		"abort": {`{"action": "abort_turn", "reason": "no"}`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "no"}, Stop: true}},
		"halt":  {`{"action": "hard_abort", "reason": "no"}`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "no"}, Stop: true}},
		"respond": {`{"action": "respond", "result": {"for_llm": "done"}}`,
			EventVerdict{HookVerdict: session.HookVerdict{Deny: "in place of the tool's"}}},
		"another tool": {`{"action": "modify", "call": {"tool": "rm", "arguments": {}}}`,
			EventVerdict{HookVerdict: session.HookVerdict{Deny: "changes the tool to rm"}}},
		"nothing changed": {`{"action": "modify"}`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "modify without an object"}}},
		"unknown":         {`{"action": "allow"}`, EventVerdict{HookVerdict: session.HookVerdict{Deny: `the action "allow"`}}},
		"an error": {`json.dumps({"jsonrpc": "2.0", "id": i, "error": {"code": -32000, "message": "broken"}})`,
			EventVerdict{HookVerdict: session.HookVerdict{Deny: "answered with an error: broken"}}},
		"no object":   {`[1]`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "unreadable response"}}},
		"nothing":     {`json.dumps({"jsonrpc": "2.0", "id": i, "result": None})`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "unreadable response"}}},
		"crash":       {`7`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "ended"}}},
		"a long line": {`"x" * 1100000`, EventVerdict{HookVerdict: session.HookVerdict{Deny: "wrote a line of more than"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w := newRespondingProcess(t, c.says, `"before_tool"`)
			v := h.runBeforeCall(t.Context(), w, execCall("ls"))
			if !strings.Contains(v.Deny, c.want.Deny) || (v.Deny == "") != (c.want.Deny == "") || v.Stop != c.want.Stop ||
				string(v.Args) != "" && !equalJSON(v.Args, c.want.Args) || (v.Args == nil) != (c.want.Args == nil) {
				t.Errorf("got %+v, want %+v", v, c.want)
			}
			if v.Deny != "" && v.Rule != "hooks.processes.gate" {
				t.Errorf("the rule is %q", v.Rule)
			}
		})
	}
}

// A process is started once, told upstream's names, and asked at each point that it intercepts.
func TestProcessInterceptPoints(t *testing.T) {
	h, w := newRespondingProcess(t, `{"approved": True} if m == "hook.approve_tool" else {"action": "continue"}`,
		`"before_tool", "approve_tool", "after_tool", "before_llm", "after_llm"`, `"observe": ["*"]`)
	ctx := t.Context()
	if v := h.runBeforeCall(ctx, w, execCall("ls")); v.Deny != "" {
		t.Fatalf("got %+v", v)
	}
	h.runAfterCall(ctx, w, execCall("ls"), &session.Result{Text: "a"})
	if m, v := h.interceptModel(ctx, w, BeforeModel, json.RawMessage(`{"model": "x"}`)); string(m) != `{"model": "x"}` || v.Deny != "" {
		t.Errorf("got %s, %+v", m, v)
	}
	h.interceptModel(ctx, w, AfterModel, json.RawMessage(`{}`))
	h.runEvent(ctx, w, EventData{Event: Stop})
	var all []map[string]any
	hosttest.WaitUntil(t, "all is told", func() bool {
		var methods []string
		methods, all = receivedMessages(t, w)
		return len(methods) == 11
	})
	pids := map[any]bool{}
	kinds := map[any]bool{}
	for _, one := range all {
		pids[one["pid"]] = true
		if p, ok := one["params"].(map[string]any); ok {
			kinds[p["kind"]] = true
			if one["method"] == "hook.before_tool" && p["tool"] != "exec" {
				t.Errorf("the tool is %v", p["tool"])
			}
		}
	}
	if len(pids) != 1 || !kinds["agent.tool.exec_start"] || !kinds["agent.tool.exec_end"] || !kinds["agent.turn.end"] {
		t.Errorf("%d processes were told %v", len(pids), kinds)
	}
}

func TestProcessChangesModelRequest(t *testing.T) {
	h, w := newRespondingProcess(t, `{"action": "modify", "request": {"model": "y"}}`, `"before_llm"`)
	if m, v := h.interceptModel(t.Context(), w, BeforeModel, json.RawMessage(`{}`)); !equalJSON(m, json.RawMessage(`{"model":"y"}`)) || v.Deny != "" {
		t.Errorf("got %s, %+v", m, v)
	}
	setResponse(t, w, `{"action": "abort_turn", "reason": "too dear"}`)
	if _, v := h.interceptModel(t.Context(), w, BeforeModel, json.RawMessage(`{}`)); v.Deny != "too dear" || !v.Stop {
		t.Errorf("got %+v", v)
	}
}

func TestProcessDeniesApproval(t *testing.T) {
	h, w := newRespondingProcess(t, `{}`, `"approve_tool"`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny == "" {
		t.Errorf("no answer approves: %+v", v)
	}
	setResponse(t, w, `{"approved": False, "reason": "ask me"}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "ask me" {
		t.Errorf("got %+v", v)
	}
}

// Processes are asked in the order of their priority, each about what the ones before have made of the call, and before
// the hooks of the settings.
func TestProcessPriority(t *testing.T) {
	w := newTestSession(t)
	script(t, w.dir, "talker.py", talker)
	setResponse(t, w, `{"action": "modify", "call": {"arguments": {"command": p["arguments"]["command"] + os.environ["MARK"]}}}`)
	h := newHooks(t, `{"processes": {
		"a": {"command": ["python3", "talker.py"], "intercept": ["before_tool"], "priority": 2, "env": {"MARK": "2"}},
		"b": {"command": ["python3", "talker.py"], "intercept": ["before_tool"], "priority": 1, "env": {"MARK": "1"}}},
		"PreToolUse": [{"hooks": [{"type": "command", "command": "grep -q ls12"}]}]}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" || !equalJSON(v.Args, json.RawMessage(`{"command": "ls12"}`)) {
		t.Errorf("got %+v", v)
	}
}

// A process that hangs is ended, and started again for the next call; one that keeps failing is waited with.
func TestProcessRestarts(t *testing.T) {
	h, w := newRespondingProcess(t, `{}`, `"before_tool"`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" {
		t.Errorf("when it has started: %+v", v)
	}
	setResponse(t, w, `None`)
	h.processes[0].defaults.Interceptor = 1000
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "did not answer within 1s") {
		t.Errorf("a process that hangs: %+v", v)
	}
	h.processes[0].defaults.Interceptor = patience
	setResponse(t, w, `{}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" {
		t.Errorf("after it was started again: %+v", v)
	}
	setResponse(t, w, `3`)
	for range 2 {
		if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "ended") {
			t.Errorf("a process that crashes: %+v", v)
		}
	}
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "the next start is in") {
		t.Errorf("one that keeps crashing: %+v", v)
	}
	setResponse(t, w, `{}`)
	hosttest.WaitUntil(t, "it is started again", func() bool { return h.runBeforeCall(t.Context(), w, execCall("ls")).Deny == "" })
}

func TestProcessStartFailures(t *testing.T) {
	h, w := newRespondingProcess(t, `1`, `"before_tool"`)
	script(t, w.dir, "mute", "")
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "did not answer hook.hello") {
		t.Errorf("got %+v", v)
	}
	h = newHooks(t, `{"processes": {"gate": {"command": ["no-such-program"], "intercept": ["before_tool"]}}}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "has no program") {
		t.Errorf("got %+v", v)
	}
}

// An observer that takes nothing holds nobody up, and is ended in the end.
func TestSlowObserverLosesEvents(t *testing.T) {
	w := newTestSession(t)
	script(t, w.dir, "deaf.py", `
import sys, time
sys.stdin.readline()
print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
time.sleep(1000)
`)
	h := newHooks(t, `{"processes": {"deaf": {"command": ["python3", "deaf.py"], "observe": ["*"]}}}`)
	long := execCall(strings.Repeat("x", 100<<10)) // more than a pipe holds
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h.runBeforeCall(ctx, w, long)
	_, c, err := h.processes[0].getOrStartChild(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		h.runBeforeCall(ctx, w, long) // it may have been ended and started again by then
	}
	hosttest.WaitUntil(t, "it is ended", func() bool { return c.endReason() != nil })
}

// Nobody waits for an observer to greet, nor does the end.
func TestObserverStartTimeout(t *testing.T) {
	w := newTestSession(t)
	h := newHooks(t, `{"processes": {"mute": {"command": ["sh", "-c", "touch begun; sleep 1000"], "observe": ["*"]}},
		"defaults": {"interceptor_timeout_ms": 3600000}}`)
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); v.Deny != "" {
		t.Errorf("got %+v", v)
	}
	hosttest.WaitUntil(t, "it is started", func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "begun"))
		return err == nil
	})
	h.Close(t.Context())
}

func TestProcessesEndWithHost(t *testing.T) {
	h, w := newRespondingProcess(t, `{}`, `"before_tool"`)
	h.runBeforeCall(t.Context(), w, execCall("ls"))
	_, c, err := h.processes[0].getOrStartChild(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	h.Close(t.Context())
	select {
	case <-c.done:
	default:
		t.Error("it still runs")
	}
	if v := h.runBeforeCall(t.Context(), w, execCall("ls")); !strings.Contains(v.Deny, "stopped with the host") {
		t.Errorf("afterwards: %+v", v)
	}
}
