package guard

import (
	"fmt"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
)

// CheckRuleExamples tests the examples of an operator's rules. Each rule must match its hit commands and none of its
// miss commands. Together with all other rules, its decision must win for its hits. The error names rule, command and
// remedy.
func CheckRuleExamples(own []Rule) error {
	set := rules.BuiltinRules().WithOperatorRules(own)
	all := newRulesOnlyGuard(set)
	for _, r := range own {
		if r.Structure {
			return fmt.Errorf(`%s: "structure" is for built-in rules; leave it out, and name programs`, r.ID)
		}
		if r.Undoable {
			return fmt.Errorf(`%s: "undoable" is for built-in rules; leave it out`, r.ID)
		}
		if len(r.Hit)+len(r.Miss) == 0 {
			continue
		}
		alone := newSingleRuleGuard(r, set)
		for _, line := range r.Hit {
			if !singleRuleMatches(alone, line) {
				return fmt.Errorf("%s: its hit %q isn't found; correct the conditions, or the example", r.ID, line)
			}
			if err := checkExampleDecision(&r, all, line); err != nil {
				return err
			}
		}
		for _, line := range r.Miss {
			if singleRuleMatches(alone, line) {
				return fmt.Errorf("%s: its miss %q is found; narrow the conditions, or correct the example", r.ID, line)
			}
		}
	}
	return nil
}

// checkExampleDecision returns an error if all rules together decide differently from the rule.
func checkExampleDecision(r *Rule, all *Guard, line string) error {
	d := all.DecideCommand(Command{Text: line})
	switch {
	case r.Decision == rules.Allow && d.Verdict != Allow:
		return fmt.Errorf("%s: its hit %q isn't allowed, as %s refuses it; only soft rules can be lifted", r.ID, line, d.Rule)
	case r.Decision != rules.Allow && d.Verdict == Allow:
		return fmt.Errorf("%s: its hit %q is allowed, as another rule lifts this one; make it hard, or narrow the other",
			r.ID, line)
	case r.Decision == rules.Ask && d.Verdict == Deny:
		return fmt.Errorf("%s: its hit %q is refused by %s before anybody is asked; "+
			"have another rule allow it and make this one hard, or correct the example", r.ID, line, d.Rule)
	}
	return nil
}

// testRuleID is an invalid id for the rule under test.
const testRuleID = "?"

// newSingleRuleGuard returns a guard with one rule, and with the Takes of all other rules.
func newSingleRuleGuard(r Rule, all *rules.RuleSet) *Guard {
	r.ID, r.Decision, r.Tier = testRuleID, rules.Deny, rules.Hard
	kept := []Rule{r}
	for _, other := range all.Rules() {
		if len(other.Takes) > 0 {
			kept = append(kept, Rule{Programs: other.Programs, Takes: other.Takes, Decision: rules.Allow})
		}
	}
	return newRulesOnlyGuard(new(rules.RuleSet).WithOperatorRules(kept))
}

func singleRuleMatches(alone *Guard, line string) bool {
	return alone.DecideCommand(Command{Text: line}).Rule == testRuleID
}

// newRulesOnlyGuard returns a guard that applies rules and ignores paths.
func newRulesOnlyGuard(set *rules.RuleSet) *Guard {
	policy := Policy{Kernel: true, Exec: ExecPolicy{DenyPatterns: true}}
	return &Guard{policy: policy, workspaces: []string{string(filepath.Separator)}, rules: set}
}
