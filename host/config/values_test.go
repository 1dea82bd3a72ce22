package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentLoopSettings(t *testing.T) {
	c := mustLoad(t, `{
		"model_list": [{"model_name": "big", "model": "openai/gpt-5.2", "api_key": "$KEY", "context_window": 200000}],
		"heartbeat": {"interval": 7},
		"agents": {
			"defaults": {"model_name": "big", "budget": {"tokens": 1000, "cost_usd": 0.25}},
			"list": [{"id": "main", "subagents": {"allow_agents": ["other"]}}, {"id": "other", "heartbeat": {"enabled": false}}]
		},
		"gateway": {"port": 0},
		"hooks": {
			"PreToolUse": [{"matcher": "Bash|Write", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 5}]}],
			"processes": {"own": {"command": ["hook"], "intercept": ["before_tool"], "workspace": "none"}}
		}
	}`)
	main, other := mustAgent(t, c, "main"), mustAgent(t, c, "other")
	if main.Model != "big" || main.Budget.Tokens != 1000 || main.Budget.CostUSD != 0.25 || main.Subagents.AllowAgents[0] != "other" ||
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
	hooks := `{"PreToolUse":[{"hooks":[{"command":"./check.sh","timeout":5,"type":"command"}],"matcher":"Bash|Write"}],` +
		`"defaults":{"approval_timeout_ms":60000,"interceptor_timeout_ms":5000,"observer_timeout_ms":500},"enabled":true,` +
		`"on_error":"closed","processes":{"own":{"command":["hook"],"intercept":["before_tool"],"workspace":"none"}}}`
	if got := string(c.Hooks()); got != hooks {
		t.Errorf("hooks: %s", got)
	}
	for text, want := range map[string]string{
		`{"hooks": {"PreToolUze": []}}`:                                                             "hooks.PreToolUse",
		`{"hooks": {"PreToolUse": [{"matcher": "x"}]}}`:                                             "hooks.PreToolUse[0].hooks: is missing",
		`{"hooks": {"on_error": "opn"}}`:                                                            `"opn" is not known; the nearest is "open"`,
		`{"hooks": {"defaults": {"observer_timeout_ms": -1}}}`:                                      "is not between 1 and 3600000",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x", "timeout": -1}]}]}}`:                       "not below 0",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x", "type": "prompt"}]}]}}`:                    "known are command",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x", "onFailure": "ask"}]}]}}`:                  "known are block",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x", "workspace": "all"}]}]}}`:                  "known are none, ro, rw",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x", "read": ["x"]}]}]}}`:                       `"x" is not an absolute path`,
		`{"hooks": {"processes": {"p": {"command": ["x"], "transport": "http"}}}}`:                  "known are stdio",
		`{"hooks": {"processes": {"p": {"command": ["x"], "dir": "x"}}}}`:                           `"x" is not an absolute path`,
		`{"hooks": {"processes": {"p": {"command": ["x"], "intercept": ["before-tool"]}}}}`:         "before_tool",
		`{"hooks": {"processes": {"p": {"command": ["x"], "observe": ["*", "agent.turn.strat"]}}}}`: "agent.turn.start",
		`{"hooks": {"processes": {"p": {"intercept": ["before_tool"]}}}}`:                           "hooks.processes.p.command: is missing",
		`{"agents": {"defaults": {"budget": {"cost_usd": -1}}}}`:                                    "not below 0",
		`{"model_list": [{"model_name": "a"}]}`:                                                     "model_list[0].model: is missing",
		`{"agents": {"defaults": {"model": "a", "max_tokens": 0}}}`:                                 "agents.defaults.max_tokens",
	} {
		i := newInstance(t)
		i.write("config.json", text)
		if _, err := i.load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
