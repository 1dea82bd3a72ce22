package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// tool is a question to a policy. The sets are those of the built-in tools; a third party's tools have none.
type tool struct {
	plugin, name string
	sets         []string
}

var (
	readFile   = tool{"filesystem", "read_file", []string{"picoclaw"}}
	writeFile  = tool{"filesystem", "write_file", []string{"picoclaw"}}
	appendFile = tool{"filesystem", "append_file", []string{"picoclaw"}}
	listDir    = tool{"filesystem", "list_dir", []string{"picoclaw"}}
	read       = tool{"filesystem", "read", []string{"module"}}
	insert     = tool{"filesystem", "insert", []string{"picoclaw", "module"}}
	grep       = tool{"grep", "grep", []string{"picoclaw", "module"}}
	execute    = tool{"shell", "exec", []string{"picoclaw"}}
	foreign    = tool{"weather", "forecast", nil}
	everything = []tool{readFile, writeFile, appendFile, listDir, read, insert, grep, execute, foreign}
)

func TestAllowedTools(t *testing.T) {
	for text, want := range map[string][]tool{
		`{}`:                         {readFile, writeFile, appendFile, listDir, insert, grep, execute, foreign},
		`"tools": {"set": "module"}`: {read, insert, grep, foreign},
		`"tools": {"set": "all"}`:    everything,
		`"tools": {"disabled": ["exec", "write_*"]}`: {readFile, appendFile, listDir, insert, grep, foreign},
		`"tools": {"disabled": ["filesystem.*", "weather.forecast"]}`: {grep,
			execute},
		`"tools": {"enabled": ["read_file", "grep.*"]}`:                {readFile, grep},
		`"tools": {"enabled": ["*_file"], "disabled": ["write_file"]}`: {readFile, appendFile},
		`"plugins": {"enabled": ["file*", "weather"]}`:                 {readFile, writeFile, appendFile, listDir, insert, foreign},
		`"plugins": {"disabled": ["*"]}`:                               {},
		`"modules": [{"module": "filesystem"}]`: {read,
			insert, grep, foreign},
		`"modules": [{"module": "filesystem", "actions": ["read"]}]`: {read,
			foreign},
		`"modules": [{"module": "filesystem", "actions": []}]`:                                                      {foreign},
		`"modules": [{"module": "filesystem", "actions": ["read", "write", "ls"]}], "tools": {"set": "all"}`:        {readFile, writeFile, appendFile, listDir, read, foreign},
		`"modules": [{"module": "filesystem", "actions": ["read", "ls"]}], "tools": {"set": "picoclaw"}`:            {readFile, listDir, foreign},
		`"modules": [{"module": "filesystem", "actions": ["read", "ls"]}], "tools": {"disabled": ["filesystem.*"]}`: {foreign},
	} {
		agent := `{"id": "a", ` + text + `}`
		if text == `{}` {
			agent = `{"id": "a"}`
		}
		p := must(t, `{"agents": {"agents": [`+agent+`]}}`)
		for _, q := range everything {
			allowed := slices.ContainsFunc(want, func(w tool) bool { return w.plugin == q.plugin && w.name == q.name })
			if got := p.AllowsTool(q.plugin, q.name, q.sets); got != allowed {
				t.Errorf("%s: %s.%s is allowed: %t; want %t", text, q.plugin, q.name, got, allowed)
			}
		}
	}
}

func TestNarrowTools(t *testing.T) {
	p := must(t, `{"tools": {"resources": ["*"], "prompts": ["*"]}}`)
	child, err := p.NarrowPolicy(NewRestriction("", []string{"*_file", "weather_forecast", "shell.exec", "prompt:notes.*"}))
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := child.NarrowPolicy(NewRestriction("", []string{"read_*", "grep", "exec"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range everything {
		inChild := q.name == "exec" || q.name == "forecast" || strings.HasSuffix(q.name, "_file")
		inGrandchild := q.name == "exec" || q.name == "read_file"
		if child.AllowsTool(q.plugin, q.name, q.sets) != inChild || grandchild.AllowsTool(q.plugin, q.name, q.sets) != inGrandchild {
			t.Errorf("%s: allowed or refused wrongly", q.name)
		}
	}
	for name, want := range map[string]guard.Verdict{"prompt:notes.a": guard.Allow, "prompt:other.a": guard.Deny, "resource:notes.a": guard.Deny} {
		kind, full, _ := strings.Cut(name, ":")
		plugin, short, _ := strings.Cut(full, ".")
		if d := child.DecideResourceOrPrompt(kind, plugin, short); d.Verdict != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := child.DecideTool(grep.plugin, grep.name, grep.sets); d.Rule != "constraint.tools" || !strings.Contains(d.Hint, "*_file") {
		t.Errorf("the refusal is %+v", d)
	}
	again, err := p.NarrowPolicy(grandchild.Restriction())
	if err != nil || again.Digest() != grandchild.Digest() || again.Digest() == child.Digest() || child.Digest() == p.Digest() {
		t.Errorf("the digests do not tell restrictions apart: %v", err)
	}
	like, err := p.WithRestrictionsOf(grandchild)
	if err != nil || like.Digest() != grandchild.Digest() {
		t.Errorf("another agent's policy with the same restrictions: %v", err)
	}
	if !child.Restriction().Includes(grandchild.Restriction()) || grandchild.Restriction().Includes(child.Restriction()) ||
		child.Restriction().Includes(Restriction{}) {
		t.Error("a restriction includes a wider one, or not a narrower one")
	}
	for _, tools := range [][]string{{}, {""}, {"read_file", "[a"}} {
		if _, err := p.NarrowPolicy(NewRestriction("", tools)); err == nil {
			t.Errorf("tools %q are accepted", tools)
		}
	}
}

func TestDisabledToolNamesSetting(t *testing.T) {
	p := must(t, `{
"agents": {"agents": [{"id": "a", "plugins": {"disabled": ["weather"]},
  "modules": [{"module": "filesystem", "actions": ["read", "grep"]}]}]},
"tools": {"set": "all",
  "enabled": ["*e*"],
  "disabled": ["grep"]},
"plugins": {"shell": {"enabled": false}}
}`)
	file := filepath.Join(p.HomePath(), "config.json")
	for _, test := range []struct {
		tool       tool
		rule, hint string
	}{
		{writeFile, "modules", "add the action write to the filesystem module in modules (" + file + ":3)"},
		{grep, "tools.disabled", "tools.disabled (" + file + ":6) would have to allow grep"},
		{tool{"bot", "x", nil}, "tools.enabled", "tools.enabled (" + file + ":5) would have to allow x"},
		{foreign, "plugins.disabled", "plugins.disabled (" + file + ":2) would have to allow weather"},
		{execute, "plugins.shell.enabled", "plugins.shell.enabled (" + file + ":7) would have to allow shell"},
	} {
		d := p.DecideTool(test.tool.plugin, test.tool.name, test.tool.sets)
		if d.Verdict != guard.Deny || d.Rule != test.rule || d.Hint != test.hint || !strings.Contains(d.Reason, "agent a") {
			t.Errorf("%s: %+v", test.tool.name, d)
		}
	}
	d := must(t, `{}`).DecideTool("filesystem", "read", []string{"module"})
	if d.Rule != "tools.set" || d.Hint != "set tools.set (default) to module or all" {
		t.Errorf("a tool of the other set: %+v", d)
	}
}

func TestDeferredTools(t *testing.T) {
	home := tempHome(t)
	p, err := resolveIn(t, home, `{"tools": {"deferred": ["write_*", "weather.*", "grep"]},
		"agents": {"agents": [{"id": "a", "tools": {"deferred": ["*_file", "weather.*"]}}]}}`, "a")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := resolveIn(t, home, `{"agents": {"agents": [{"id": "a"}]}}`, "a")
	if err != nil {
		t.Fatal(err)
	}
	child, err := p.NarrowPolicy(Restriction{Workspace: "."})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range everything {
		want := strings.HasSuffix(q.name, "_file") || q.plugin == "weather"
		if got, inherited := p.IsToolDeferred(q.plugin, q.name), child.IsToolDeferred(q.plugin, q.name); got != want ||
			inherited != want {
			t.Errorf("%s.%s is deferred: %t, in the child %t; want %t", q.plugin, q.name, got, inherited, want)
		}
	}
	if !p.AllowsTool(foreign.plugin, foreign.name, nil) || p.Digest() != plain.Digest() {
		t.Error("tools that are deferred are allowed otherwise than those that are not")
	}
	if got := p.ToolPatterns(); !slices.Equal(got, []string{"*_file", "weather.*"}) {
		t.Errorf("the patterns are %q", got)
	}
}

func TestGrants(t *testing.T) {
	const text = `{"agents": {"agents": [{"id": "a"}, {"id": "b", "isolation": {"network": false}}]},
		"plugins": {"p": {"dev": "/build", "config": {"k": 1}, "grants": {"workspace": "ro", "network": true, "env": ["B", "A", "A"]}}}}`
	home := tempHome(t)
	a, err := resolveIn(t, home, text, "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := resolveIn(t, home, text, "b")
	if err != nil {
		t.Fatal(err)
	}
	p := a.PluginPolicy("p")
	if !p.Enabled || p.Dev != "/build" || string(p.Config) != `{"k":1}` {
		t.Errorf("the plugin is %+v", p)
	}
	if g := p.Grants; g.Workspace != "ro" || g.Exec || !g.Network || !slices.Equal(g.Env, []string{"A", "B"}) {
		t.Errorf("the grants are %+v", g)
	}
	if b.PluginPolicy("p").Grants.Network || b.PluginPolicy("shell").Grants.Network {
		t.Error("an agent without the network grants it")
	}
	if g := a.PluginPolicy("unknown").Grants; g.Workspace != "none" || g.Exec || g.Network || g.Env != nil {
		t.Errorf("an unknown plugin is granted %+v", g)
	}
	p.Grants.Env[0], p.Config[0] = "X", 'x'
	if again := a.PluginPolicy("p"); again.Grants.Env[0] != "A" || !json.Valid(again.Config) {
		t.Error("what a caller does to an answer changes the policy")
	}
}
