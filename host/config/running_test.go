package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentsThatRun(t *testing.T) {
	c := mustLoad(t, `{
		"model_list": [{"model_name": "big", "model": "openai/gpt-5.2", "api_key": "$KEY", "context_window": 200000}],
		"heartbeat": {"interval": 7},
		"agents": {
			"defaults": {"model_name": "big", "budget": {"tokens": 1000}},
			"list": [{"id": "main", "subagents": {"allow_agents": ["other"]}}, {"id": "other", "heartbeat": {"enabled": false}}]
		},
		"gateway": {"port": 0},
		"hooks": {
			"PreToolUse": [{"matcher": "Bash|Write", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 5}]}],
			"processes": {"own": {"command": ["hook"], "intercept": ["before_tool"], "workspace": "none"}}
		}
	}`)
	main, other := mustAgent(t, c, "main"), mustAgent(t, c, "other")
	if main.Model != "big" || main.Budget.Tokens != 1000 || main.Subagents.AllowAgents[0] != "other" ||
		main.Heartbeat != (Heartbeat{true, 7}) || other.Heartbeat != (Heartbeat{false, 7}) {
		t.Errorf("%+v %+v", main, other)
	}
	want := []Model{{Name: "big", Model: "openai/gpt-5.2", APIKey: "$KEY", ContextWindow: 200000}}
	if diff := cmp.Diff(want, c.Models()); diff != "" {
		t.Error(diff)
	}
	if g := c.Gateway(); g.Host != "localhost" || g.Port != 0 || g.DrainSeconds != 10 {
		t.Errorf("%+v", g)
	}
	hooks := Hooks{
		Enabled: true, OnError: "closed",
		Events: map[string][]MatchedHooks{"PreToolUse": {{Matcher: "Bash|Write",
			Hooks: []HookCommand{{Type: "command", Command: "./check.sh", Timeout: 5}}}}},
		Processes: map[string]HookProcess{"own": {Command: []string{"hook"}, Intercept: []string{"before_tool"},
			HookGrants: HookGrants{Workspace: "none"}}},
	}
	hooks.Defaults.ObserverTimeout, hooks.Defaults.InterceptorTimeout, hooks.Defaults.ApprovalTimeout = 500, 5000, 60000
	if diff := cmp.Diff(hooks, c.Hooks()); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		`{"hooks": {"PreToolUze": []}}`:                             "hooks.PreToolUse",
		`{"hooks": {"PreToolUse": [{"matcher": "x"}]}}`:             "hooks.PreToolUse[0].hooks: is missing",
		`{"model_list": [{"model_name": "a"}]}`:                     "model_list[0].model: is missing",
		`{"agents": {"defaults": {"model": "a", "max_tokens": 0}}}`: "agents.defaults.max_tokens",
	} {
		i := newInstance(t)
		i.write("config.json", text)
		if _, err := i.load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
