package guard

import (
	"strings"
	"testing"
)

// What is wrong with an example is said with the rule, the command and what to do.
func TestCheckRules(t *testing.T) {
	const deploy = `"id": "own.deploy", "programs": "mytool", "verb": "deploy", "why": "deploys"`
	for _, test := range []struct{ text, want string }{
		{`{` + deploy + `}`, ""},
		{`{` + deploy + `,
			"hit": ["mytool deploy -n a", "cd sub && mytool deploy"], "miss": ["mytool show deploy", "echo $(x)"]}`, ""},
		{`{` + deploy + `, "hit": ["mytool show"]}`, `own.deploy: its hit "mytool show" isn't found; correct`},
		{`{` + deploy + `, "miss": ["mytool deploy"]}`, `own.deploy: its miss "mytool deploy" is found; narrow`},
		{`{` + deploy + `, "hit": ["if true"]}`, `isn't found`},
		{`{` + deploy + `, "decision": "ask", "hit": ["mytool deploy"]}`, ""},

		// Of a refusal, own and built-in rules may both be the reason.
		{`{"id": "own.push", "programs": "git", "verb": "push", "why": "pushes",
			"hit": ["git push", "sudo git push"]}`, ""},
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "ask", "why": "pushes",
			"hit": ["git push"]}`,
			`its hit "git push" is refused by exec.git-push before anybody is asked; have another`},

		// What allows must lift all that refuses.
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["git push"],
			"unless": {"flags": "-f"}, "miss": ["git push -f"]}`, ""},
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["git push; sudo ls"]}`,
			`its hit "git push; sudo ls" isn't allowed, as exec.privilege refuses it; only soft`},
		{`{"id": "own.push", "programs": "gti", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["ls"]}`, `isn't found`},
		{`{` + deploy + `,
			"hit": ["mytool deploy"]}, {"id": "own.all", "programs": "mytool", "decision": "allow", "why": "does it"}`,
			`own.deploy: its hit "mytool deploy" is allowed, as another rule lifts this one; make it hard`},
		{`{` + deploy + `, "tier": "hard",
			"hit": ["mytool deploy"]}, {"id": "own.all", "programs": "mytool", "decision": "allow",
			"why": "does it"}`, ""},

		// To be asked instead of refused takes two rules.
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes"},
		  {"id": "own.ask", "programs": "git", "verb": "push", "decision": "ask", "tier": "hard",
			"why": "pushes", "hit": ["git push"]}`, ""},

		// Two rules of one id are two rules.
		{`{` + deploy + `,
			"hit": ["mytool deploy"], "miss": ["mytool undo"]}, {"id": "own.deploy", "programs": "mytool", "verb": "undo",
			"why": "undoes", "hit": ["mytool undo"], "miss": ["mytool deploy"]}`, ""},

		// Options of which a rule knows that they take a value, another's included.
		{`{` + deploy + `,
			"hit": ["mytool --env prod deploy"]}, {"id": "own.b", "programs": "mytool", "takes": "--env",
			"verb": "b", "why": "b"}`, ""},
		{`{"id": "own.b", "structure": true, "why": "does it"}`, `own.b: "structure" is for built-in rules; leave it out`},
		{`{"id": "own.b", "programs": "mytool", "undoable": true, "why": "does it"}`,
			`own.b: "undoable" is for built-in rules; leave it out`},
	} {
		own, err := ParseExecRules("own.json", []byte("["+test.text+"]"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRuleExamples(own)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s\n\tsays %v\n\tnot  %s", test.text, err, test.want)
		}
		if own[0].ID == testRuleID || own[0].Decision == "" {
			t.Errorf("%s has become %+v", test.text, own[0])
		}
	}
}

// Every decision by a rule names the file that the rule stands in.
func TestDecisionNamesRuleFile(t *testing.T) {
	own, err := ParseExecRules("config.json", []byte(`[
		{"id": "terraform-destroy", "programs": "terraform tofu", "verb": "destroy", "why": "destroys what is described"}]`))
	if err != nil {
		t.Fatal(err)
	}
	policy := everything()
	policy.Exec.Rules = own
	g := mustNew(t, policy)
	for line, want := range map[string]struct{ rule, file string }{
		"terraform destroy":    {"terraform-destroy", "config.json"}, // which a built-in rule refuses, too
		"terraform state rm x": {"exec.remote-delete", "stored.json"},
		"curl x | sh":          {"exec.pipe-to-shell", "structure.json"},
		"cmd /c del /f x":      {"exec.windows-delete", "windows.json"},
		"cat /etc/passwd":      {"workspace.outside", ""},
	} {
		if d := decide(g, line); d.Rule != want.rule || d.File != want.file {
			t.Errorf("%s: rule %s of %q; want %s of %q", line, d.Rule, d.File, want.rule, want.file)
		}
	}
}
