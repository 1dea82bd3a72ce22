// Package rules is the room of the guard's rules for commands: what is refused because of what the command is,
// wherever it works. The rules are data, in data/*.json, each with the reason it gives and with examples that a test
// checks; an operator's own rules have the same form, which [Rule] describes and [Parse] reads.
//
// A rule sees one simple command, its wrappers stripped and its words expanded. It knows nothing of a shell's syntax,
// of paths or of policies. What the fields of a rule can't say is one of the named predicates.
package rules

import (
	"slices"
	"strings"
)

// The tiers.
const (
	Soft = "soft" // lifted by a custom allow pattern that matches the command
	Hard = "hard" // lifted only by switching all rules off
)

// The decisions.
const (
	Deny  = "deny"
	Ask   = "ask"
	Allow = "allow"
)

// Rule decides on the commands that fulfil all its conditions. Two rules may have the same ID.
type Rule struct {
	ID       string `json:"id"`
	Tier     string `json:"tier"`     // Soft, unless it says otherwise
	Decision string `json:"decision"` // Deny, unless it says otherwise
	File     string `json:"-"`        // where it was read from

	// Programs are the names of the programs that the rule is about; a `*` in one stands for any text.
	Programs words `json:"programs"`
	// Takes are options of the programs that take the next word as their value, where the guard doesn't know it.
	// They hold for every rule about the program.
	Takes words `json:"takes"`

	Conditions
	Operands int         `json:"operands"` // there are at least that many operands
	Via      words       `json:"via"`      // one of these programs starts the command
	Unless   *Conditions `json:"unless"`   // any of these lifts the rule

	// Undoable marks a rule about deleting files of this machine that a setting lifts where undo brings them back and the
	// words of the command say which they are. Only built-in rules have it.
	Undoable bool `json:"undoable,omitempty"`

	// Structure marks a rule about whole lines, which the guard finds by itself: it has no conditions.
	Structure bool `json:"structure"`

	Why     string   `json:"why"`     // what the command does: a sentence without its subject
	Instead string   `json:"instead"` // what to do instead, if anything
	Seeds   []string `json:"seeds"`   // the patterns of the seed that it stands for
	Hit     []string `json:"hit"`     // commands that it finds
	Miss    []string `json:"miss"`    // commands that it doesn't find
}

// Conditions are what is asked of a command.
type Conditions struct {
	Verb  phrases `json:"verb"`  // the operands begin with one of the phrases
	Flags words   `json:"flags"` // one of these options was given, also in a cluster or as a long option's beginning
	Args  globs   `json:"args"`  // an argument is like one of these
	When  string  `json:"when"`  // the name of a predicate
}

// matchesCommand reports whether a command satisfies all conditions.
func (r *Rule) matchesCommand(c *RuleCommand) bool {
	starts := func(program string) bool { return slices.Contains(c.Via, program) }
	switch u := r.Unless; {
	case len(r.Via) > 0 && !slices.ContainsFunc(r.Via, starts),
		len(r.Args) > 0 && !r.hasArg(c),
		len(r.Flags) > 0 && !c.parsedOptions().HasOption(r.Flags...),
		len(r.Verb) > 0 && !r.hasVerb(c),
		r.Operands > 0 && len(c.parsedOptions().Operands) < r.Operands,
		r.When != "" && !predicates[r.When](c):
		return false
	case u == nil:
		return true
	default:
		return !u.hasArg(c) && (len(u.Flags) == 0 || !c.parsedOptions().HasOption(u.Flags...)) &&
			(u.When == "" || !predicates[u.When](c)) && !u.hasVerb(c)
	}
}

func (o *Conditions) hasArg(c *RuleCommand) bool {
	return len(o.Args) > 0 && slices.ContainsFunc(c.lowerArgs(), func(arg string) bool {
		return slices.ContainsFunc(o.Args, func(g lowerGlob) bool { return g.matchesText(arg) })
	})
}

// hasVerb reports whether the operands begin with one of the phrases, and stores its length.
func (o *Conditions) hasVerb(c *RuleCommand) bool {
	return slices.ContainsFunc(o.Verb, func(phrase []lowerGlob) bool {
		operands := c.parsedOptions().Operands
		if len(phrase) > len(operands) {
			return false
		}
		for i, word := range phrase {
			if !word.matchesText(c.lowerArgs()[operands[i]]) {
				return false
			}
		}
		c.verb = len(phrase)
		return true
	})
}

// lowerGlob is a lower-case pattern, split at its asterisks.
type lowerGlob []string

func newGlob(pattern string) lowerGlob { return strings.Split(strings.ToLower(pattern), "*") }

// matchesText reports whether the pattern matches a lower-case text.
func (g lowerGlob) matchesText(text string) bool {
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
