package rules

import (
	"strings"
	"testing"
)

// What is wrong with a rule is said in one sentence that names the rule and what to do.
func TestParseErrors(t *testing.T) {
	const rest = `"programs": "x", "why": "does it"`
	for _, test := range []struct{ text, want string }{
		{`{"id": "a"}`, `own.json isn't an array of rules: write [ before the first rule and ] behind the last`},
		{"[\n{\"id\": \"a\",}]", `own.json isn't an array of rules: line 2: invalid character '}'`},
		{`[{"id": "a", "program": "x"}]`, `rule 1 a: there is no key "program"; did you mean "programs"?`},
		{`[{"id": "a", "zzzzzzzzzzz": 1}]`, `there is no key "zzzzzzzzzzz"; there are id, tier`},
		{`[{"id": "a", "unless": {"flag": "-x"}}]`, `in "unless": there is no key "flag"; did you mean "flags"?`},
		{`[{"id": "a", "unless": "-x", ` + rest + `}]`, `in "unless": "-x" isn't an object; write its keys in braces`},
		{`[{"id": "a", "tier": "medium", ` + rest + `}]`, `there is no tier "medium"; there are soft, hard`},
		{`[{"id": "a", "decision": "denny", ` + rest + `}]`, `there is no decision "denny"; did you mean "deny"?`},
		{`[{"id": "a", "when": "dryrun", ` + rest + `}]`, `there is no predicate "dryrun"; did you mean "dry-run"?`},
		{`[{"id": "a", "unless": {"when": "x"}, ` + rest + `}]`, `in "unless": there is no predicate "x"; there are`},
		{`[{"id": "a", "flags": "force", ` + rest + `}]`, `"force" in "flags" must be an option with its dashes`},
		{`[{"id": "a", "takes": "C", ` + rest + `}]`, `"C" in "takes" must be an option with its dashes`},
		{`[{"id": "a", "programs": "/bin/x", "why": "y"}]`, `the program "/bin/x" must be a name`},
		{`[{"id": "a", "why": "y"}]`, `rule 1 a: it has no "programs"; name the programs`},
		{`[{"id": "a", "why": "y", "programs": " "}]`, `it has no "programs"`},
		{`[{"id": "a", "programs": "x"}]`, `it has no "why"; describe the effect of the command`},
		{`[{"id": "ok", ` + rest + `}, {` + rest + `}]`, `rule 2 (without an id): it has no "id"; give it one`},
		{`[{"id": "A.b", ` + rest + `}]`, `rule 1 A.b: the id must begin with a lower-case letter`},
		{`[{"id": "a", "operands": "1", ` + rest + `}]`, `"operands" can't be a string; write a number`},
		{`[{"id": "a", "operands": -1, ` + rest + `}]`, `"operands" can't be less than 0`},
		{`[{"id": "a", "hit": "x", ` + rest + `}]`, `"hit" can't be a string; write an array of texts`},
		{`[{"id": "a", "args": 7, ` + rest + `}]`, `7 is neither a text nor an array of texts`},
		{`[{"id": "a", "verb": [""], ` + rest + `}]`, `a phrase in "verb" is empty`},
		{`[{"id": "a", "structure": true, ` + rest + `}]`, `has no programs and no conditions`},
		{`[7]`, `rule 1 (without an id): 7 isn't an object; write its keys in braces`},
	} {
		_, err := ParseRules("own.json", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n\tsays %v\n\tnot  %s", test.text, err, test.want)
		}
	}
}

// An operator's rules are tried before the built-in ones, with all that a rule can ask.
func TestWith(t *testing.T) {
	own, err := ParseRules("own.json", []byte(`[
		{"id": "own.deploy", "programs": ["mytool", "my*-cli"], "takes": "-e --env", "verb": ["deploy", "* undo"],
		 "unless": {"flags": "--check", "args": "*staging*"}, "decision": "ask", "why": "deploys"},
		{"id": "own.rm", "programs": "rm", "operands": 3, "tier": "hard", "why": "deletes several files"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if r := own[0]; r.File != "own.json" || r.Tier != Soft || r.Decision != Ask {
		t.Errorf("read as %+v", r)
	}
	if own[1].Tier != Hard || own[1].Decision != Deny {
		t.Errorf("read as %+v", own)
	}
	before := len(BuiltinRules().Rules())
	set := BuiltinRules().WithOperatorRules(own)
	if len(set.Rules()) != before+2 || len(BuiltinRules().Rules()) != before {
		t.Errorf("%d and %d rules", len(set.Rules()), len(BuiltinRules().Rules()))
	}
	for line, want := range map[string]string{
		"mytool deploy":              "own.deploy",
		"mytool -e prod DEPLOY":      "own.deploy",
		"mytool release undo":        "own.deploy",
		"my-new-cli deploy":          "own.deploy",
		"mytool deploy --check":      "",
		"mytool deploy --chec":       "",
		"mytool deploy -e Staging-1": "",
		"mytool show deploy":         "",
		"rm a b c":                   "own.rm",
		"rm a b":                     "",
		"rm -r a b c":                "own.rm exec.rm-recursive",
		"my-cli2 deploy":             "",
		"mkfs.ext4 deploy":           "exec.format",
	} {
		words := strings.Fields(line)
		var got []string
		for _, r := range set.FindMatchingRules(NewRuleCommand(words[0], words[1:], nil)) {
			got = append(got, r.ID)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
	for _, program := range []string{"mytool", "my-x-cli", "rm", "mkfs.xfs"} {
		if !set.HasRulesFor(program) {
			t.Errorf("nothing concerns %s", program)
		}
	}
	for _, program := range []string{"ls", "mytools", ""} {
		if set.HasRulesFor(program) {
			t.Errorf("something concerns %q", program)
		}
	}
}

func TestStructure(t *testing.T) {
	if r := FindStructureRule("exec.fork-bomb"); r == nil || r.Tier != Hard || r.Why == "" {
		t.Errorf("the rule on fork bombs is %+v", r)
	}
	if r := FindStructureRule("exec.rm-recursive"); r != nil {
		t.Errorf("%s is about one command, not about a line", r.ID)
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"*b", "ba", false},
		{"A*C", "abc", true}, {"a*a", "a", false}, {"*", "", true}, {"*b*c*", "abcd", true}, {"*c*b*", "abcd", false},
	} {
		if newLowercaseGlob(test.pattern).matchesText(test.text) != test.want {
			t.Errorf("%s on %s isn't %v", test.pattern, test.text, test.want)
		}
	}
}
