// Package rules contains the guard's rules for commands. They apply inside and outside the workspace. Rules are data in
// data/*.json, each with its reason and with examples that a test checks. An operator's own rules have the same form:
// see [Rule] and [ParseRules].
//
// A rule sees one simple command, without wrappers and with expanded words. It knows nothing of shell syntax, paths or
// policies. Named predicates express conditions that the fields of a rule can't.
package rules

import (
	"slices"
	"strings"
)

// Tiers of rules: the settings that lift a rule.
const (
	Soft = "soft" // lifted by a custom allow pattern that matches the command
	Hard = "hard" // lifted only by switching all rules off
)

// Decisions of rules.
const (
	Deny  = "deny"
	Ask   = "ask"
	Allow = "allow"
)

// Rule decides on commands that satisfy all its conditions. Several rules may share an ID.
type Rule struct {
	ID       string `json:"id"`
	Tier     string `json:"tier"`     // Soft by default
	Decision string `json:"decision"` // Deny by default
	File     string `json:"-"`        // where it was read from

	// Programs are the names of the programs to which the rule applies; `*` matches any text.
	Programs wordList `json:"programs"`
	// Takes are options of the programs that take the next word as value and that the guard does not know. They apply
	// to every rule for the program.
	Takes wordList `json:"takes"`

	Conditions
	Operands int         `json:"operands"` // minimum number of operands
	Via      wordList    `json:"via"`      // one of these programs starts the command
	Unless   *Conditions `json:"unless"`   // any of these conditions lifts the rule

	// Undoable marks a rule about deleting local files. A setting lifts it if undo can restore the files and the words
	// of the command name them. Only built-in rules have it.
	Undoable bool `json:"undoable,omitempty"`

	// Structure marks a rule about whole lines, which the guard detects in code. It has no conditions.
	Structure bool `json:"structure"`

	Why     string   `json:"why"`     // effect of the command: a sentence without its subject
	Instead string   `json:"instead"` // safer alternative, if any
	Seeds   []string `json:"seeds"`   // patterns of the original guard that the rule replaces
	Hit     []string `json:"hit"`     // example commands that must match
	Miss    []string `json:"miss"`    // example commands that must not match
}

// Conditions are requirements on a command: those of a rule, or of its "unless", which lift the rule.
type Conditions struct {
	Verb  phraseList `json:"verb"`  // the operands begin with one of the phrases
	Flags wordList   `json:"flags"` // one of these options is present, also in a cluster or abbreviated
	Args  globList   `json:"args"`  // an argument matches one of these patterns
	When  string     `json:"when"`  // the name of a predicate
}

func (r *Rule) matchesCommand(c *RuleCommand) bool {
	starts := func(program string) bool { return slices.Contains(c.Via, program) }
	switch u := r.Unless; {
	case len(r.Via) > 0 && !slices.ContainsFunc(r.Via, starts),
		len(r.Args) > 0 && !r.hasMatchingArg(c),
		len(r.Flags) > 0 && !c.parsedOptions().HasOption(r.Flags...),
		len(r.Verb) > 0 && !r.matchVerbPhrase(c),
		r.Operands > 0 && len(c.parsedOptions().Operands) < r.Operands,
		r.When != "" && !predicates[r.When](c):
		return false
	case u == nil:
		return true
	default:
		return !u.hasMatchingArg(c) && (len(u.Flags) == 0 || !c.parsedOptions().HasOption(u.Flags...)) &&
			(u.When == "" || !predicates[u.When](c)) && !u.matchVerbPhrase(c)
	}
}

func (o *Conditions) hasMatchingArg(c *RuleCommand) bool {
	return len(o.Args) > 0 && slices.ContainsFunc(c.normalizedArgs(), func(arg string) bool {
		return slices.ContainsFunc(o.Args, func(g lowercaseGlob) bool { return g.matchesText(arg) })
	})
}

// matchVerbPhrase reports whether the operands begin with a verb phrase, and stores its length in the command.
func (o *Conditions) matchVerbPhrase(c *RuleCommand) bool {
	return slices.ContainsFunc(o.Verb, func(phrase []lowercaseGlob) bool {
		operands := c.parsedOptions().Operands
		if len(phrase) > len(operands) {
			return false
		}
		for i, word := range phrase {
			if !word.matchesText(c.normalizedArgs()[operands[i]]) {
				return false
			}
		}
		c.verb = len(phrase)
		return true
	})
}

// lowercaseGlob is a lower-case pattern, split at its asterisks.
type lowercaseGlob []string

func newLowercaseGlob(pattern string) lowercaseGlob {
	return strings.Split(strings.ToLower(pattern), "*")
}

// matchesText reports whether the pattern matches a whole lower-case text.
func (g lowercaseGlob) matchesText(text string) bool {
	last := len(g) - 1
	if last == 0 {
		return text == g[0]
	}
	text, ok := strings.CutPrefix(text, g[0])
	for _, part := range g[1:last] {
		if ok {
			_, text, ok = strings.Cut(text, part)
		}
	}
	return ok && strings.HasSuffix(text, g[last])
}
