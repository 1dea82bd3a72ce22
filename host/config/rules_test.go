package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
