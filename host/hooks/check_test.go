package hooks

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckNamesAllMistakes(t *testing.T) {
	var o HookOptions
	if err := json.Unmarshal([]byte(`{
		"on_error": "opn", "defaults": {"observer_timeout_ms": -1},
		"PreToolUse": [{"matcher": "(?!x)", "hooks": [{"type": "prompt", "command": " ", "timeout": -1, "onFailure": "ask",
			"workspace": "all", "read": ["x"], "secrets": ["KEY"], "env": {"A=B": ""}}]}, {}],
		"processes": {"p": {"transport": "http", "dir": "x", "intercept": ["before-tool"], "observe": ["agent.turn"]}, "q": {"command": ["x"]}}
	}`), &o); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hooks.PreToolUse[0].hooks[0].command", "hooks.PreToolUse[0].hooks[0].env", "hooks.PreToolUse[0].hooks[0].onFailure",
		"hooks.PreToolUse[0].hooks[0].read[0]", "hooks.PreToolUse[0].hooks[0].secrets", "hooks.PreToolUse[0].hooks[0].timeout",
		"hooks.PreToolUse[0].hooks[0].type", "hooks.PreToolUse[0].hooks[0].workspace", "hooks.PreToolUse[0].matcher",
		"hooks.PreToolUse[1].hooks", "hooks.defaults.observer_timeout_ms", "hooks.on_error", "hooks.processes.p.command",
		"hooks.processes.p.dir", "hooks.processes.p.intercept[0]", "hooks.processes.p.observe[0]",
		"hooks.processes.p.transport", "hooks.processes.q",
	}
	var got []string
	for _, m := range CheckOptions(o) {
		got = append(got, m.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := NewHooks(o, nil); err == nil {
		t.Error("hooks were made of mistakes")
	}
	if text := CheckOptions(o)[11].Error(); text != `hooks.on_error: "opn" is not known; did you mean "open"?; it is one of closed, open` {
		t.Error(text)
	}
}
