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

// Set is rules that are tried together. It doesn't change.
type Set struct {
	rules   []*Rule
	named   map[string][]*Rule     // by program
	wild    []wild                 // in the place of a program, a name with an asterisk
	takes   map[string]getopt.Spec // by program
	overall map[string]*Rule       // the structural ones, by id
}

// wild is a rule about the programs whose names are like a pattern.
type wild struct {
	name glob
	rule *Rule
}

// Builtin returns the rules that the guard has.
func Builtin() *Set { return builtin() }

var builtin = sync.OnceValue(readBuiltin)

func readBuiltin() *Set {
	var all []*Rule
	files, err := fs.Glob(data, "data/*.json")
	for _, file := range files {
		var text []byte
		var rules []Rule
		if text, err = data.ReadFile(file); err == nil {
			rules, err = Parse(path.Base(file), text)
		}
		if err != nil {
			break
		}
		all = append(all, pointers(rules)...)
	}
	if err != nil {
		panic(err) // a test reads every file
	}
	return newSet(all)
}

// With returns a set in which an operator's own rules are tried too, behind those of s.
func (s *Set) With(own []Rule) *Set {
	if len(own) == 0 {
		return s
	}
	return newSet(slices.Concat(s.rules, pointers(slices.Clone(own))))
}

func pointers(rules []Rule) []*Rule {
	out := make([]*Rule, len(rules))
	for i := range rules {
		out[i] = &rules[i]
	}
	return out
}

func newSet(all []*Rule) *Set {
	s := &Set{rules: all, named: map[string][]*Rule{}, takes: map[string]getopt.Spec{}, overall: map[string]*Rule{}}
	takes := map[string][]string{}
	for _, r := range all {
		if r.Structure && s.overall[r.ID] == nil {
			s.overall[r.ID] = r
		}
		for _, program := range r.Programs {
			if strings.Contains(program, "*") {
				s.wild = append(s.wild, wild{newGlob(program), r})
				continue
			}
			name := programs.Canonical(program)
			if list := s.named[name]; len(list) == 0 || list[len(list)-1] != r {
				s.named[name] = append(list, r)
			}
			takes[name] = append(takes[name], r.Takes...)
		}
	}
	for name, options := range takes {
		if len(options) > 0 {
			s.takes[name] = getopt.Parse(strings.Join(options, "=d ") + "=d")
		}
	}
	return s
}

// Rules returns all rules, the structural ones too.
func (s *Set) Rules() []*Rule { return s.rules }

// Concerns reports whether there may be a rule about a program.
func (s *Set) Concerns(program string) bool {
	return s.named[program] != nil || slices.ContainsFunc(s.wild, func(w wild) bool { return w.name.matches(program) })
}

// Find returns the rules that a command falls under: those that name its program, then those that name it with an asterisk.
func (s *Set) Find(c *Command) []*Rule {
	if takes, ok := s.takes[c.Name]; ok {
		c.takes = &takes
	}
	var out []*Rule
	for _, r := range s.named[c.Name] {
		if r.matches(c) {
			out = append(out, r)
		}
	}
	for _, w := range s.wild {
		if w.name.matches(c.Name) && !slices.Contains(out, w.rule) && w.rule.matches(c) {
			out = append(out, w.rule)
		}
	}
	return out
}

// Structure returns the built-in rule about whole lines that has an id, or nil.
func Structure(id string) *Rule { return Builtin().overall[id] }
