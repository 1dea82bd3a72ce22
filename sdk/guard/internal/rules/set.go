package rules

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

//go:embed data/*.json
var data embed.FS

// RuleSet is an immutable set of rules, indexed by program.
type RuleSet struct {
	rules []*Rule
	named map[string][]*Rule // by program
	wild  []wildcardRule
	takes map[string]getopt.OptionSet // by program
}

// wildcardRule is a rule with a wildcard in a program name.
type wildcardRule struct {
	name lowercaseGlob
	rule *Rule
}

// BuiltinRules returns the built-in rules.
var BuiltinRules = sync.OnceValue(func() *RuleSet {
	set, err := readRuleFiles(data)
	if err != nil {
		panic(err) // a test reads every file
	}
	return set
})

// readRuleFiles reads the rules of data/*.json.
func readRuleFiles(files fs.FS) (*RuleSet, error) {
	names, err := fs.Glob(files, "data/*.json")
	var all []*Rule
	for _, name := range names {
		text, readErr := fs.ReadFile(files, name)
		if readErr != nil {
			return nil, readErr
		}
		rules, readErr := ParseRules(path.Base(name), text)
		if readErr != nil {
			return nil, readErr
		}
		all = append(all, rulePointers(rules)...)
	}
	return newRuleSet(all), err
}

// WithOperatorRules returns a set with an operator's rules before those of s. The first rule takes precedence.
func (s *RuleSet) WithOperatorRules(own []Rule) *RuleSet {
	if len(own) == 0 {
		return s
	}
	return newRuleSet(slices.Concat(rulePointers(slices.Clone(own)), s.rules))
}

func rulePointers(rules []Rule) []*Rule {
	out := make([]*Rule, len(rules))
	for i := range rules {
		out[i] = &rules[i]
	}
	return out
}

func newRuleSet(all []*Rule) *RuleSet {
	s := &RuleSet{rules: all, named: map[string][]*Rule{}, takes: map[string]getopt.OptionSet{}}
	takes := map[string][]string{}
	for _, r := range all {
		for _, program := range r.Programs {
			if strings.Contains(program, "*") {
				s.wild = append(s.wild, wildcardRule{newLowercaseGlob(program), r})
				continue
			}
			name := programs.CanonicalProgramName(program)
			if list := s.named[name]; len(list) == 0 || list[len(list)-1] != r {
				s.named[name] = append(list, r)
			}
			takes[name] = append(takes[name], r.Takes...)
		}
	}
	for name, options := range takes {
		if len(options) > 0 {
			s.takes[name] = getopt.ParseOptionSpec(strings.Join(options, "=d ") + "=d")
		}
	}
	return s
}

// Rules returns all rules, including structural ones.
func (s *RuleSet) Rules() []*Rule { return s.rules }

// HasRulesFor reports whether a rule may apply to a program.
func (s *RuleSet) HasRulesFor(program string) bool {
	return s.named[program] != nil || slices.ContainsFunc(s.wild, func(w wildcardRule) bool { return w.name.matchesText(program) })
}

// FindMatchingRules returns the rules that match a command: first rules that name its program, then wildcard rules.
func (s *RuleSet) FindMatchingRules(c *RuleCommand) []*Rule {
	if takes, ok := s.takes[c.Name]; ok {
		c.takes = &takes
	}
	var out []*Rule
	for _, r := range s.named[c.Name] {
		if r.matchesCommand(c) {
			out = append(out, r)
		}
	}
	for _, w := range s.wild {
		if w.name.matchesText(c.Name) && !slices.Contains(out, w.rule) && w.rule.matchesCommand(c) {
			out = append(out, w.rule)
		}
	}
	return out
}

// FindStructureRule returns the built-in structural rule with an id, or nil.
func FindStructureRule(id string) *Rule {
	for _, r := range BuiltinRules().rules {
		if r.Structure && r.ID == id {
			return r
		}
	}
	return nil
}
