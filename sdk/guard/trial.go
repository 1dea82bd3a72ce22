package guard

import (
	"fmt"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
)

// CheckRules tries the examples of operators' rules: each rule must find the commands of its hit and none of its miss.
// With all rules together, what it decides must be what comes of its hit: one that allows has to lift every rule that
// refuses the command. The error names the rule, the command and what to do.
func CheckRules(own []Rule) error {
	set := rules.Builtin().With(own)
	all := ruled(set)
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
		alone := alone(r, set)
		for _, line := range r.Hit {
			if !finds(alone, line) {
				return fmt.Errorf("%s: its hit %q isn't found; correct the conditions, or the example", r.ID, line)
			}
			if err := agrees(&r, all, line); err != nil {
				return err
			}
		}
		for _, line := range r.Miss {
			if finds(alone, line) {
				return fmt.Errorf("%s: its miss %q is found; narrow the conditions, or correct the example", r.ID, line)
			}
		}
	}
	return nil
}

// agrees reports what is wrong if something else comes of a command than the rule decides.
func agrees(r *Rule, all *Guard, line string) error {
	d := all.Command(Command{Text: line})
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

// marked is the id of a rule that is looked for alone; no rule that is read can have it.
const marked = "?"

// alone returns a guard that has one rule, and of the others only what they tell of options.
func alone(r Rule, all *rules.Set) *Guard {
	r.ID, r.Decision, r.Tier = marked, rules.Deny, rules.Hard
	kept := []Rule{r}
	for _, other := range all.Rules() {
		if len(other.Takes) > 0 {
			kept = append(kept, Rule{Programs: other.Programs, Takes: other.Takes, Decision: rules.Allow})
		}
	}
	return ruled(new(rules.Set).With(kept))
}

// finds reports whether the rule that is alone finds a command.
func finds(alone *Guard, line string) bool { return alone.Command(Command{Text: line}).Rule == marked }

// ruled returns a guard that decides by rules alone, whatever the paths.
func ruled(set *rules.Set) *Guard {
	policy := Policy{Kernel: true, Exec: ExecPolicy{DenyPatterns: true}}
	return &Guard{policy: policy, workspaces: []string{string(filepath.Separator)}, rules: set}
}
