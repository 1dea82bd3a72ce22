package shell

import (
	"iter"
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
	in       *Interpreter
	base     map[string]string       // the environment that it started with
	vars     *table[expand.Variable] // assigned since; nil values are unset ones
	funcs    *table[*syntax.Stmt]
	outer    *table[*syntax.Stmt] // functions that there may be, besides
	aliases  *table[string]
	files    *table[Stream] // written since, by absolute path
	params   []string       // $0, $1, …
	locals   []string       // variables of the function that is being followed
	integers []string       // variables whose values are computed when they are set
	readonly []string       // variables that can't be set
	exported []string       // variables that new shells get
	dir      string         // "" if it isn't known
	doubt    string         // where it is instead, if the directory that it entered doesn't exist; "" if it does
	strict   bool           // a command that fails ends the way (set -e)
	oldDir   string
	stack    []string // of pushd
	dead     bool     // this way ends at an exit or return
	trap     string   // what runs when the shell ends, or at a signal
	trapped  [2]any   // the variables and functions that the trap was last followed with
	input    *Stream  // what exec has made the standard input of all that follows; nil if it hasn't
	printer  *sink    // where exec has made all that follows print to; nil if it hasn't
	self     [1]*state
}

// clone returns a copy. The tables are shared until one of the two changes them.
func (s *state) clone() *state {
	c := &s.in.states.list(1)[:1][0]
	*c = *s
	c.vars, c.funcs, c.outer, c.aliases, c.files = s.vars.share(), s.funcs.share(), s.outer.share(), s.aliases.share(), s.files.share()
	return c
}

// become makes the state what another one is.
func (s *state) become(o *state) {
	*s = *o
	s.self[0] = s
}

// alone is the list of this state. The list must not be changed.
func (s *state) alone() []*state {
	s.self[0] = s
	return s.self[:]
}

func (s *state) equal(o *state) bool {
	return s.dir == o.dir && s.doubt == o.doubt && s.strict == o.strict && s.oldDir == o.oldDir && s.dead == o.dead && slices.Equal(s.stack, o.stack) && s.trap == o.trap && s.input == o.input && s.printer == o.printer &&
		same(s.in, s.aliases, o.aliases, identical) && same(s.in, s.funcs, o.funcs, identical) && same(s.in, s.outer, o.outer, identical) && slices.Equal(s.params, o.params) &&
		slices.Equal(s.integers, o.integers) && slices.Equal(s.readonly, o.readonly) &&
		same(s.in, s.vars, o.vars, sameVariable) && same(s.in, s.files, o.files, Stream.same)
}

func identical[V comparable](a, b V) bool { return a == b }

func sameVariable(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List) && slices.Equal(a.Indexes, b.Indexes) && maps.Equal(a.Map, b.Map)
}

// join unites the ways that can have been taken. Ways that ended are forgotten if others go on.
func join(states ...*state) []*state {
	if len(states) <= 1 {
		return states
	}
	if in := states[0].in; in.stopped || in.work > maxWork {
		return states[:1] // it is too much to follow, which Interpret says
	}
	if len(states) == 2 { // nearly always
		switch a, b := states[0], states[1]; {
		case b.dead && !a.dead, a.dead == b.dead && b.equal(a):
			return states[:1:1]
		case a.dead && !b.dead:
			return states[1:2:2]
		}
		return states
	}
	alive := slices.ContainsFunc(states, func(s *state) bool { return !s.dead })
	var out []*state
	for _, s := range states {
		if s.dead && alive || len(out) <= maxStates && slices.ContainsFunc(out, s.equal) {
			continue // of too many, only what they agree on counts
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
		base := common(s.vars, o.vars)
		for _, names := range []iter.Seq[string]{o.vars.changed(s.in, base), s.vars.changed(s.in, base)} {
			for _, name := range slices.Collect(names) {
				ours, _ := s.vars.get(name)
				if theirs, _ := o.vars.get(name); !sameVariable(ours, theirs) {
					s.either(name, ours, theirs)
				}
			}
		}
		for path := range o.files.changed(s.in, nil) {
			ours, _ := s.files.get(path)
			theirs, _ := o.files.get(path)
			set(s.in, &s.files, path, Stream{Piped: true, Text: ours.or(theirs).Text, From: From("several ways")})
		}
		for _, name := range slices.Collect(o.funcs.changed(s.in, common(s.funcs, o.funcs))) {
			body, _ := o.funcs.get(name)
			if ours, _ := s.funcs.get(name); ours != body {
				set(s.in, &s.outer, name, body)
			}
		}
		for _, name := range slices.Collect(s.funcs.changed(s.in, common(s.funcs, o.funcs))) {
			if theirs, _ := o.funcs.get(name); theirs == nil {
				body, _ := s.funcs.get(name)
				set(s.in, &s.outer, name, body)
				unset(s.in, &s.funcs, name)
			}
		}
		for name, body := range o.outer.all() {
			set(s.in, &s.outer, name, body)
		}
		if !slices.Equal(s.integers, o.integers) {
			s.integers = slices.Concat(s.integers, o.integers)
		}
		if !slices.Equal(s.readonly, o.readonly) {
			s.readonly = slices.Concat(s.readonly, o.readonly)
		}
		for name, value := range o.aliases.all() {
			set(s.in, &s.aliases, name, value)
		}
	}
	return s
}

// keepFiles takes over the files that a subshell wrote: nothing else of it remains.
func (s *state) keepFiles(from []*state) *state {
	for _, o := range from {
		if o.trap != s.trap {
			s.in.ends([]*state{o})
		}
	}
	switch {
	case len(from) == 0:
		return s
	case len(from) > 1:
		from = []*state{blur(from)}
	}
	if o := from[0]; o.files.grewFrom(s.files) {
		s.files = o.files.share() // what was here, and more
		return s
	}
	written := from[0].files.all()
	s.in.work += len(written)
	for path, content := range written {
		if before, ok := s.files.get(path); !ok || !before.same(content) {
			set(s.in, &s.files, path, content)
		}
	}
	return s
}

// restore gives a variable the value that it had before.
func (s *state) restore(name string, before *state) {
	if v, ok := before.vars.get(name); ok {
		set(s.in, &s.vars, name, v)
	} else {
		unset(s.in, &s.vars, name)
	}
}

func (s *state) set(name, value string) {
	if len(value) > maxValue {
		value = Unknown
	}
	if at := strings.IndexByte(name, '['); at > 0 {
		s.setList(name[:at], []string{Unknown}) // an element, by whatever may be between the brackets
		return
	}
	if s.changed(name, value) {
		value = Unknown
	}
	if name == "BASH_ARGV0" {
		s.params = append([]string{value}, s.args()...)
	}
	if v, ok := s.vars.get(name); ok && (v.Kind == expand.Indexed || v.Kind == expand.Associative) {
		s.setFirst(name, v, value)
		return
	}
	set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// changed notes that a variable gets another value, and so do those that it is another name of. It says whether that may fail.
func (s *state) changed(name, value string) (fails bool) {
	for _, target := range s.in.references[name] {
		set(s.in, &s.vars, target, expand.Variable{Set: true, Kind: expand.String, Str: Unknown})
	}
	if slices.Contains(s.integers, name) {
		s.in.evaluated(&Place{Dir: s.dir, Doubt: s.doubt, Span: s.in.span}, s, value, 0)
	}
	return slices.Contains(s.readonly, name)
}

func (s *state) setList(name string, list []string) {
	if s.changed(name, strings.Join(list, " ")) {
		list = []string{Unknown}
	}
	size := 0
	for _, item := range list {
		size += len(item) + 1
	}
	if size > maxValue {
		list = []string{Unknown}
	}
	set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.Indexed, List: list})
}

// abs returns the absolute form of a path in this state; without a known directory the path itself.
func (s *state) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return s.in.paths.Join(s.dir, path)
}

// own are the variables that bash sets by itself, whatever the environment has.
var own = map[string]bool{"IFS": true, "OLDPWD": true, "PWD": true, "SHLVL": true, "PS1": true, "PS4": true, "BASH_VERSION": true, "BASH_VERSINFO": true, "BASHOPTS": true,
	"SHELLOPTS": true, "BASH": true, "BASH_SUBSHELL": true, "BASH_COMMAND": true, "BASH_SOURCE": true, "FUNCNAME": true, "DIRSTACK": true, "GROUPS": true, "HOSTTYPE": true,
	"MACHTYPE": true, "OSTYPE": true, "OPTERR": true, "PIPESTATUS": true, "HISTCMD": true, "COMP_WORDBREAKS": true}

// Get implements [expand.Environ].
func (s *state) Get(name string) expand.Variable {
	known := func(v string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: v} }
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: s.args()}
	case "#":
		return known(strconv.Itoa(len(s.args())))
	case "?", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "PPID", "BASHPID", "UID", "EUID", "EPOCHSECONDS",
		"EPOCHREALTIME", "COLUMNS", "LINES", "OPTIND":
		if v, ok := s.vars.get(name); ok {
			return v
		}
		return known(Item) // a number
	case "-", "_", "HOSTNAME", "REPLY", "BASH_REMATCH", "OPTARG":
		if v, ok := s.vars.get(name); ok {
			return v
		}
		return known(Unknown)
	}
	if name != "" && (name[0] >= '0' && name[0] <= '9' || name[0] == '+') {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			if n < len(s.params) {
				return known(s.params[n])
			}
			return expand.Variable{}
		}
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return known(s.homeOf(user))
	}
	if s.in.volatile[name] {
		return known(Unknown)
	}
	if v, ok := s.vars.get(name); ok {
		if refers := s.in.references[name]; len(refers) == 1 && v.Str == Unknown && refers[0] != name {
			return s.Get(refers[0])
		}
		return v
	}
	if name == "PWD" && s.dir != "" {
		return known(s.dir)
	}
	if v, ok := s.base[name]; ok && !own[name] {
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
		if s.oldDir == "" {
			return "/" + Unknown // wherever the shell was before
		}
		return s.oldDir
	case name == "root":
		return "/root"
	case filepath.Base(home) == name:
		return home
	}
	return "/home/" + name
}

// Set implements [expand.WriteEnviron] for expansions that assign, as ${x:=y} does.
func (s *state) Set(name string, v expand.Variable) error {
	if len(v.Str) > maxValue || s.changed(name, v.Str) {
		v.Str = Unknown
	}
	set(s.in, &s.vars, name, v)
	return nil
}

// Each implements [expand.Environ].
func (s *state) Each(fn func(string, expand.Variable) bool) {
	for name, v := range s.vars.all() {
		if !fn(name, v) {
			return
		}
	}
}
