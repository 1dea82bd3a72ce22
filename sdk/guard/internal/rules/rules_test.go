package rules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

// Every rule finds its examples and nothing of its counterexamples.
func TestExamples(t *testing.T) {
	for _, r := range BuiltinRules().Rules() {
		if len(r.Hit) == 0 || len(r.Miss) == 0 {
			t.Errorf("%s: %s: a rule needs examples that it finds and doesn't find", r.File, r.ID)
		}
		if r.Structure {
			continue // the guard's test has the whole lines
		}
		for _, line := range r.Hit {
			if c := command(t, line); !about(r, c) || !r.matchesCommand(c) {
				t.Errorf("%s: %s (%s) doesn't find %q", r.File, r.ID, r.Why, line)
			}
			if !finds(r.ID, command(t, line)) {
				t.Errorf("%s: nothing called %s finds %q", r.File, r.ID, line)
			}
		}
		for _, line := range r.Miss {
			if finds(r.ID, command(t, line)) {
				t.Errorf("%s: %s finds %q", r.File, r.ID, line)
			}
		}
	}
}

// about reports whether a rule is found by a command's program, and tells the command what rules know of its options.
func about(r *Rule, c *RuleCommand) bool {
	set := BuiltinRules()
	if takes, ok := set.takes[c.Name]; ok {
		c.takes = &takes
	}
	return set.HasRulesFor(c.Name) && (slices.Contains(set.named[c.Name], r) ||
		slices.ContainsFunc(set.wild, func(w wildcardRule) bool { return w.rule == r && w.name.matchesText(c.Name) }))
}

func finds(id string, c *RuleCommand) bool {
	return slices.ContainsFunc(BuiltinRules().FindMatchingRules(c), func(r *Rule) bool { return r.ID == id })
}

// inner finds the command that a wrapper starts.
var inner = map[string]func(words []string) []string{
	"xargs": func(words []string) []string {
		return words[slices.IndexFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") }):]
	},
	"find": func(words []string) []string {
		if i := slices.Index(words, "-exec"); i >= 0 {
			return words[i+1 : len(words)-1]
		}
		return nil
	},
}

// command makes a command of an example, of what a wrapper in it starts if there is one.
func command(t *testing.T, line string) *RuleCommand {
	t.Helper()
	words := strings.Fields(line)
	if strings.ContainsAny(line, `'"`) {
		var err error
		if words, err = shell.Fields(line, func(string) string { return "" }); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	var via []string
	name := strings.ToLower(words[0])
	if unwrap := inner[name]; unwrap != nil {
		if started := unwrap(words[1:]); started != nil {
			via, words = []string{name}, started
		}
	}
	return NewRuleCommand(programs.CanonicalProgramName(strings.ToLower(words[0])), words[1:], via)
}

// Every rule's id stands on the page about the guard.
func TestIDsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range BuiltinRules().Rules() {
		if !strings.Contains(string(page), "`"+r.ID+"`") {
			t.Errorf("%s is not on docs/guard.md", r.ID)
		}
	}
}
