package hooks

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckNamesAllMistakes(t *testing.T) {
	var o HookOptions
	if err := json.Unmarshal([]byte(`{
		"PreToolUse": [{"matcher": "(?!x)", "hooks": [{"command": " ", "secrets": ["KEY"], "env": {"A=B": ""}}]}, {}],
		"processes": {"p": {"intercept": ["before_tool"]}, "q": {"command": ["x"]}}
	}`), &o); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hooks.PreToolUse[0].hooks[0].command", "hooks.PreToolUse[0].hooks[0].env", "hooks.PreToolUse[0].hooks[0].secrets",
		"hooks.PreToolUse[0].matcher", "hooks.PreToolUse[1].hooks", "hooks.processes.p.command", "hooks.processes.q",
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
	if text := CheckOptions(o)[0].Error(); text != `hooks.PreToolUse[0].hooks[0].command: is empty; name the command to run` {
		t.Error(text)
	}
}
