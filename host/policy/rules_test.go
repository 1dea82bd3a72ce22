package policy

import (
	"testing"
)

const ownRules = `{"tools": {"exec": {"rules": [
	{"id": "own-deny", "programs": "mytool", "verb": "deploy", "why": "deploys"},
	{"id": "own-ask", "programs": "mytool", "verb": "undo", "decision": "ask", "why": "undoes"},
	{"id": "own-allow", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes"}]}},
	"agents": {"agents": [{"id": "main"}, {"id": "other", "tools": {"exec": {"rules": [
		{"id": "theirs", "programs": "mytool", "why": "does it"}]}}}, {"id": "free", "tools": {"exec": {"rules": []}}}]}}`

// ruleIDs are the ids of a policy's own rules.
func ruleIDs(p *Policy) string {
	ids := ""
	for _, r := range p.GuardPolicy().Exec.Rules {
		ids += r.ID + "@" + r.File + " "
	}
	return ids
}

func TestAgentRulesReplaceCommonRules(t *testing.T) {
	home := tempHome(t)
	for agent, want := range map[string]string{
		"main": "own-deny@config.json own-ask@config.json own-allow@config.json ", "other": "theirs@config.json ", "free": "",
	} {
		p, err := resolveIn(t, home, ownRules, agent)
		if err != nil {
			t.Fatal(err)
		}
		if got := ruleIDs(p); got != want {
			t.Errorf("agent %s has %q; want %q", agent, got, want)
		}
	}
}

func TestChildKeepsParentRules(t *testing.T) {
	parent := must(t, ownRules)
	for _, child := range []Restriction{{}, {Workspace: "."}, {Paths: []string{"."}}} {
		p, err := parent.NarrowPolicy(child)
		if err != nil {
			t.Fatal(err)
		}
		if ruleIDs(p) != ruleIDs(parent) {
			t.Errorf("a child has %q", ruleIDs(p))
		}
	}
	given := parent.GuardPolicy().Exec.Rules
	given[0].ID = "changed"
	if parent.GuardPolicy().Exec.Rules[0].ID != "own-deny" {
		t.Error("a caller changes the policy")
	}
}

// Rules make a difference for who shares an instance, but neither their order nor their examples do.
func TestRulesInTheDigest(t *testing.T) {
	const a, b = `"id": "a", "programs": "x", "why": "y"`, `"id": "b", "programs": "x", "why": "y"`
	rules := func(list string) string { return `{"tools": {"exec": {"rules": [` + list + `]}}}` }
	d := digests(t, rules(""), `{}`, rules("{"+a+"}, {"+b+"}"), rules("{"+b+"}, {"+a+"}"),
		rules("{"+a+"}"), rules("{"+a+`, "hit": ["x a"]}`),
		rules("{"+a+`, "decision": "allow"}`), rules("{"+a+`, "verb": "z"}`))
	if d[0] != d[1] || d[2] != d[3] || d[4] != d[5] {
		t.Error("what does not matter is in the digest")
	}
	seen := map[string]bool{}
	for _, i := range []int{0, 2, 4, 6, 7} {
		if seen[d[i]] {
			t.Errorf("digest %d is another's", i)
		}
		seen[d[i]] = true
	}
}
