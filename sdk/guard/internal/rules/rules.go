// Package rules holds the guard's rules for commands: what is refused because of what the command is, wherever it
// works. Rules are data: each has an id, a matcher on the arguments, a reason, and examples that a test checks.
//
// A rule sees one simple command with its wrappers stripped and its words expanded. It must not know of shells' syntax,
// paths or policies.
package rules

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

// Tier says whether a setting can lift a rule.
type Tier byte

// The tiers.
const (
	Soft Tier = iota // lifted by a custom allow pattern that matches the command
	Hard             // lifted only by switching all rules off
)

// Rule refuses commands.
type Rule struct {
	ID     string
	Tier   Tier
	Names  string   // the programs that it concerns, separated by spaces; "" is all
	Match  Matcher  // nil matches always
	Reason string   // what the command would do: a sentence without a subject's name
	Safer  string   // what to do instead, if anything
	Seeds  []string // the patterns of the seed that it stands for
	Hit    []string // commands that it must match
	Miss   []string // commands that it must not match
}

// Command is what a rule sees.
type Command struct {
	Name string   // the canonical name of the program
	Args []string // without the name
	Via  []string // the programs that start it, outermost first
	Opts getopt.Args
}

// New makes a command from its words.
func New(name string, args, via []string) *Command {
	return &Command{Name: name, Args: args, Via: via, Opts: programs.Options(name, args)}
}

// Operand returns the nth operand, or "".
func (c *Command) Operand(n int) string {
	if n < len(c.Opts.Operands) {
		return c.Args[c.Opts.Operands[n]]
	}
	return ""
}

// Operands returns all operands.
func (c *Command) Operands() []string {
	out := make([]string, len(c.Opts.Operands))
	for i, at := range c.Opts.Operands {
		out[i] = c.Args[at]
	}
	return out
}

// Concern says whether there is a rule that may concern a program. Most programs have none; the only rule without
// names is about the family mkfs.
func Concern(name string) bool { return byName[name] != nil || strings.HasPrefix(name, "mkfs.") }

// Matcher says whether a rule concerns a command.
type Matcher func(*Command) bool

// Find returns the rules that refuse a command.
func Find(c *Command) []*Rule {
	var out []*Rule
	for _, r := range byName[c.Name] {
		if r.Match == nil || r.Match(c) {
			out = append(out, r)
		}
	}
	for _, r := range byName[""] {
		if r.Match(c) {
			out = append(out, r)
		}
	}
	return out
}

// All are the rules.
var All = slices.Concat(deleteRules, diskRules, systemRules, privilegeRules, processRules, remoteRules, packageRules, windowsRules)

var byName = index()

func index() map[string][]*Rule {
	m := map[string][]*Rule{}
	for i := range All {
		r := &All[i]
		names := strings.Fields(r.Names)
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			m[name] = append(m[name], r)
		}
	}
	return m
}

// flag matches if one of the options was given.
func flag(names ...string) Matcher {
	return func(c *Command) bool { return c.Opts.Has(names...) }
}

// verb matches if the operands begin with one of the phrases.
func verb(phrases ...string) Matcher {
	return func(c *Command) bool {
		for _, phrase := range phrases {
			words := strings.Fields(phrase)
			if len(words) <= len(c.Opts.Operands) && allOf(words, c.Operands()) {
				return true
			}
		}
		return false
	}
}

func allOf(words, operands []string) bool {
	for i, w := range words {
		if !strings.EqualFold(operands[i], w) {
			return false
		}
	}
	return true
}

// via matches if one of the programs starts the command.
func via(names ...string) Matcher {
	return func(c *Command) bool {
		return slices.ContainsFunc(c.Via, func(v string) bool { return slices.Contains(names, v) })
	}
}

// word matches if one of the arguments is one of the words, whatever the case.
func word(words ...string) Matcher {
	return func(c *Command) bool {
		return slices.ContainsFunc(c.Args, func(a string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(a, w) })
		})
	}
}

// prefix matches if one of the arguments begins with one of the prefixes, whatever the case.
func prefix(prefixes ...string) Matcher {
	return func(c *Command) bool {
		return slices.ContainsFunc(c.Args, func(a string) bool {
			a = strings.ToLower(a)
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(a, p) })
		})
	}
}

// operand matches if there is an operand at all.
func operand(c *Command) bool { return len(c.Opts.Operands) > 0 }

func anyOf(ms ...Matcher) Matcher {
	return func(c *Command) bool { return slices.ContainsFunc(ms, func(m Matcher) bool { return m(c) }) }
}

func both(ms ...Matcher) Matcher {
	return func(c *Command) bool { return !slices.ContainsFunc(ms, func(m Matcher) bool { return !m(c) }) }
}

func not(m Matcher) Matcher { return func(c *Command) bool { return !m(c) } }
