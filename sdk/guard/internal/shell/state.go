package shell

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// state is what is known at one point of a program's way. Several states are several ways that it can have come.
type state struct {
	base    map[string]string          // the environment that it started with
	vars    map[string]expand.Variable // assigned since; nil values are unset ones
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	files   map[string]Stream // written since, by absolute path
	shared  bool              // the maps above may be another state's, too
	params  []string          // $0, $1, …
	locals  []string          // variables of the function that is being followed
	dir     string            // "" if it isn't known
	oldDir  string
	stack   []string // of pushd
	dead    bool     // this way ends at an exit or return
}

// clone returns a copy. The maps are shared until one of the two changes them.
func (s *state) clone() *state {
	s.shared = true
	c := *s
	return &c
}

// own makes the maps this state's alone. It must be called before they are changed.
func (s *state) own() {
	if s.shared {
		s.vars, s.funcs, s.aliases, s.files = maps.Clone(s.vars), maps.Clone(s.funcs), maps.Clone(s.aliases), maps.Clone(s.files)
		s.shared = false
	}
}

func (s *state) equal(o *state) bool {
	return s.dir == o.dir && s.oldDir == o.oldDir && s.dead == o.dead && slices.Equal(s.stack, o.stack) &&
		maps.Equal(s.aliases, o.aliases) && maps.Equal(s.funcs, o.funcs) && slices.Equal(s.params, o.params) &&
		maps.EqualFunc(s.vars, o.vars, func(a, b expand.Variable) bool {
			return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List) && maps.Equal(a.Map, b.Map)
		}) &&
		maps.EqualFunc(s.files, o.files, Stream.same)
}

// join unites the ways that can have been taken. Ways that ended are forgotten if others go on.
func join(states ...*state) []*state {
	if len(states) <= 1 {
		return states
	}
	alive := slices.ContainsFunc(states, func(s *state) bool { return !s.dead })
	var out []*state
	for _, s := range states {
		if s.dead && alive || slices.ContainsFunc(out, s.equal) {
			continue
		}
		out = append(out, s)
	}
	if len(out) > maxStates {
		return []*state{blur(out)}
	}
	return out
}

// blur is the one state that holds what all the states agree on.
func blur(states []*state) *state {
	s := states[0].clone()
	for _, o := range states[1:] {
		s.locals = append(s.locals, o.locals...)
		if o.dir != s.dir {
			s.dir = ""
		}
		for name := range o.vars {
			if s.vars[name].String() != o.vars[name].String() {
				s.set(name, Unknown)
			}
		}
		for path := range o.files {
			s.own()
			s.files = put(s.files, path, Stream{Piped: true, From: []string{"several ways"}})
		}
		for name, body := range o.funcs {
			if s.funcs[name] == nil {
				s.own()
				s.funcs = put(s.funcs, name, body)
			}
		}
		for name, value := range o.aliases {
			s.own()
			s.aliases = put(s.aliases, name, value)
		}
	}
	return s
}

// keepFiles takes over the files that a subshell wrote: nothing else of it remains.
func (s *state) keepFiles(from []*state) *state {
	for _, o := range from {
		for path, content := range o.files {
			if before, ok := s.files[path]; !ok || !before.same(content) {
				s.own()
				s.files = put(s.files, path, content)
			}
		}
	}
	return s
}

func put[K comparable, V any](m map[K]V, key K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = v
	return m
}

func (s *state) set(name, value string) {
	if len(value) > maxValue {
		value = Unknown
	}
	s.own()
	s.vars = put(s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

func (s *state) setList(name string, list []string) {
	size := 0
	for _, item := range list {
		size += len(item) + 1
	}
	if size > maxValue {
		list = []string{Unknown}
	}
	s.own()
	s.vars = put(s.vars, name, expand.Variable{Set: true, Kind: expand.Indexed, List: list})
}

// abs returns the absolute form of a path in this state; without a known directory the path itself.
func (s *state) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

func (s *state) write(path string, content Stream) {
	s.own()
	s.files = put(s.files, s.abs(path), content)
}

// Get implements [expand.Environ].
func (s *state) Get(name string) expand.Variable {
	known := func(v string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: v} }
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: s.args()}
	case "#":
		return known(strconv.Itoa(len(s.args())))
	case "?", "$", "!", "-", "_", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "PPID", "BASHPID", "UID", "EUID", "EPOCHSECONDS",
		"EPOCHREALTIME", "HOSTNAME", "REPLY", "BASH_REMATCH", "COLUMNS", "LINES", "OPTARG", "OPTIND":
		if v, ok := s.vars[name]; ok {
			return v
		}
		return known(Unknown)
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		if n < len(s.params) {
			return known(s.params[n])
		}
		return expand.Variable{}
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return known(s.homeOf(user))
	}
	if v, ok := s.vars[name]; ok {
		return v
	}
	if name == "PWD" && s.dir != "" {
		return known(s.dir)
	}
	if v, ok := s.base[name]; ok {
		return known(v)
	}
	switch name {
	case "IFS":
		return known(" \t\n")
	case "HOME", "OLDPWD":
		return known("/" + Unknown) // every shell has one, and it is absolute
	}
	return expand.Variable{}
}

func (s *state) args() []string {
	if len(s.params) == 0 {
		return nil
	}
	return s.params[1:]
}

// homeOf is what "~name" stands for.
func (s *state) homeOf(name string) string {
	orUnknown := func(dir string) string {
		if dir == "" {
			return Unknown
		}
		return dir
	}
	switch home := s.Get("HOME").String(); {
	case name == "":
		return home
	case name == "+":
		return orUnknown(s.dir)
	case name == "-":
		return orUnknown(s.oldDir)
	case name == "root":
		return "/root"
	case filepath.Base(home) == name:
		return home
	}
	return "/home/" + name
}

// Set implements [expand.WriteEnviron] for expansions that assign, as ${x:=y} does.
func (s *state) Set(name string, v expand.Variable) error {
	if len(v.Str) > maxValue {
		v.Str = Unknown
	}
	s.own()
	s.vars = put(s.vars, name, v)
	return nil
}

// Each implements [expand.Environ].
func (s *state) Each(fn func(string, expand.Variable) bool) {
	for name, v := range s.vars {
		if !fn(name, v) {
			return
		}
	}
}
