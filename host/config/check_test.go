package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadReportsAllErrors(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{
  "agents": {"agents": [
    {"id": "a", "tool": {}},
    {"id": "a"},
    {"workspace": "relative"},
    7
  ]},
  "tools": {
    "set": "picclaw", "set": "all",
    "allow_read_paths": ["^/(a", "^/b$", "^/[c"],
    "exec": {"timeout_seconds": 0, "env": "PATH"}
  },
  "plugins": {"p": {"config": {"x": 1, "x": 2}, "grants": {"workspace": "all"}}}
}`)
	variables := []string{"PICOCLAW_TOOLS_SETT=all", "PICOCLAW_ISOLATION_ENABLED=yes", "PICOCLAW_TOOLS_ENABLED=["}
	c, faults := LoadWithAllErrors(LoadOptions{Environ: i.environ(variables...)})
	if c != nil {
		t.Error("there is a configuration")
	}
	var got []string
	for _, f := range faults {
		place, _, _ := strings.Cut(f.Error(), f.Problem)
		got = append(got, strings.ReplaceAll(place, i.path("config.json"), "FILE"))
	}
	want := []string{
		"FILE:3: agents.agents[0].tool: ",
		"FILE:4: agents.agents[1].id: ",
		"FILE:5: agents.agents[2].workspace: ",
		"FILE:5: agents.agents[2].id: ",
		"FILE:6: agents.agents[3]: ",
		"FILE:9: tools.set: ",
		"FILE:9: tools.set: ",
		"FILE:10: tools.allow_read_paths[0]: ",
		"FILE:10: tools.allow_read_paths[2]: ",
		"FILE:11: tools.exec.timeout_seconds: ",
		"FILE:11: tools.exec.env: ",
		"FILE:13: plugins.p.config.x: ",
		"FILE:13: plugins.p.grants.workspace: ",
		"PICOCLAW_ISOLATION_ENABLED: isolation.enabled: ",
		"PICOCLAW_TOOLS_ENABLED: tools.enabled: ",
		"PICOCLAW_TOOLS_SETT: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := i.load(variables...); err == nil || err.Error() != faults[0].Error() {
		t.Errorf("Load says %v, not the first", err)
	}
}

func TestLoadAcceptsValidConfig(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{"tools": {"set": "all"}}`)
	c, faults := LoadWithAllErrors(LoadOptions{Environ: i.environ()})
	if len(faults) != 0 || c.FilePath() != i.path("config.json") {
		t.Errorf("%v, %v", c, faults)
	}
}

const ownRule = `{"id": "tf", "programs": "terraform tofu", "verb": "destroy", "why": "destroys", "operands": 1,
	"hit": ["terraform destroy"]}`

func TestCommandRules(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{"tools": {"exec": {"rules": [`+ownRule+`, // the one
]}}, "agents": {"agents": [{"id": "a"},
{"id": "b", "tools": {"exec": {"rules": [{"id": "x", "programs": "x", "why": "y"}]}}}]}}`)
	c, err := i.load()
	if err != nil {
		t.Fatal(err)
	}
	a, b := mustAgent(t, c, "a"), mustAgent(t, c, "b")
	want := []map[string]any{{"id": "tf", "programs": "terraform tofu", "verb": "destroy", "why": "destroys",
		"operands": int64(1), "hit": []any{"terraform destroy"}}}
	if diff := cmp.Diff(want, a.Tools.Exec.Rules); diff != "" {
		t.Error(diff)
	}
	if got := b.Tools.Exec.Rules; len(got) != 1 || got[0]["id"] != "x" {
		t.Errorf("agent b has %v", got)
	}
	if got := find(t, c.Settings(), "agents.agents[1].tools.exec.rules"); got.Origin.Line != 4 {
		t.Errorf("the rules of b are %+v", got)
	}
	parsed, err := ParseExecRules(a.Tools.Exec.Rules, find(t, a.Settings(), "tools.exec.rules").Origin)
	if err != nil || len(parsed) != 1 || parsed[0].ID != "tf" || parsed[0].File != "config.json" {
		t.Errorf("%+v, %v", parsed, err)
	}
	find(t, a.Settings(), "tools.exec.rules").Value.([]map[string]any)[0]["id"] = "changed"
	if got := find(t, mustAgent(t, c, "a").Settings(), "tools.exec.rules").Value.([]map[string]any); got[0]["id"] != "tf" {
		t.Error("a caller changes the configuration")
	}

	i = newInstance(t)
	i.write("config.yaml", `
tools:
  exec:
    rules:
      - {id: tf, programs: terraform tofu, verb: destroy, why: destroys, operands: 1, hit: [terraform destroy]}
`)
	for _, variables := range [][]string{nil, {"PICOCLAW_TOOLS_EXEC_RULES=[" + ownRule + "]"}} {
		c, err := i.load(variables...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, mustAgent(t, c, "").Tools.Exec.Rules); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCommandRuleErrors(t *testing.T) {
	const ok = `"id": "tf", "programs": "terraform", "why": "destroys"`
	for _, fault := range []struct{ text, want string }{
		{`{}`, `FILE:1: tools.exec.rules: must be a list of rules, not an object`},
		{"[\n7]", `FILE:2: tools.exec.rules[0]: must be an object, not a number (7)`},
		{"[{" + ok + "},\n{" + ok + `, "verbs": "x"}]`,
			`FILE:2: tools.exec.rules[1]: rule tf: there is no key "verbs"; did you mean "verb"?`},
		{`[{` + ok + `, "unless": {"flag": "-x"}}]`,
			`FILE:1: tools.exec.rules[0]: rule tf: in "unless": there is no key "flag"; did you mean "flags"?`},
		{`[{"programs": "x"}]`,
			`FILE:1: tools.exec.rules[0]: it has no "id"; give it one such as "exec.terraform-destroy"`},
		{`[{` + ok + `, "why": "x"}]`,
			`FILE:1: tools.exec.rules[0].why: the key occurs twice, first at FILE:1; remove one of them`},
		{"[\n{" + ok + `, "hit": ["ls; ls"]}]`,
			`FILE:1: tools.exec.rules: tf: its hit "ls; ls" isn't found; correct the conditions, or the example`},
	} {
		checkFault(t, "config.json", `{"tools": {"exec": {"rules": `+fault.text+`}}}`, fault.want)
	}
	i := newInstance(t)
	i.write("config.json", `{"tools": {"exec": {"rules": [{`+ok+`, "hit": ["ls; ls"]}]}}}`)
	_, faults := LoadWithAllErrors(LoadOptions{Environ: i.environ(`PICOCLAW_TOOLS_EXEC_RULES=[{"id": 1}]`)})
	if len(faults) != 2 || faults[0].Cure != "correct the conditions, or the example" {
		t.Fatalf("%v", faults)
	}
	const want = `PICOCLAW_TOOLS_EXEC_RULES: tools.exec.rules[0]: "id" can't be a number; write a text`
	if got := faults[1].Error(); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
