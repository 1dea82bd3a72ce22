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
	rules []*Rule
	named map[string][]*Rule // by program
	wild  []wild
	takes map[string]getopt.Spec // by program
}

// wild is a rule about the programs whose names are like a pattern.
type wild struct {
	name glob
	rule *Rule
}

// Builtin returns the rules that the guard has.
func Builtin() *Set { return builtin() }

var builtin = sync.OnceValue(func() *Set {
	set, err := read(data)
	if err != nil {
		panic(err) // a test reads every file
	}
	return set
})

// read reads the files of a directory called data.
func read(files fs.FS) (*Set, error) {
	names, err := fs.Glob(files, "data/*.json")
	var all []*Rule
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		rules, err := Parse(path.Base(name), text)
		if err != nil {
			return nil, err
		}
		all = append(all, pointers(rules)...)
	}
	return newSet(all), err
}

// With returns a set in which an operator's own rules are tried too, before those of s: of two that decide alike, the
// operator's is named.
func (s *Set) With(own []Rule) *Set {
	if len(own) == 0 {
		return s
	}
	return newSet(slices.Concat(pointers(slices.Clone(own)), s.rules))
}

func pointers(rules []Rule) []*Rule {
	out := make([]*Rule, len(rules))
	for i := range rules {
		out[i] = &rules[i]
	}
	return out
}

func newSet(all []*Rule) *Set {
	s := &Set{rules: all, named: map[string][]*Rule{}, takes: map[string]getopt.Spec{}}
	takes := map[string][]string{}
	for _, r := range all {
		for _, program := range r.Programs {
			if strings.Contains(program, "*") {
				s.wild = append(s.wild, wild{newGlob(program), r})
				continue
			}
			name := programs.CanonicalName(program)
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

// Find returns the rules that a command falls under: those that name its program, then those that do with an asterisk.
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
func Structure(id string) *Rule {
	for _, r := range Builtin().rules {
		if r.Structure && r.ID == id {
			return r
		}
	}
	return nil
}
