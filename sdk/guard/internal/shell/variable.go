package shell

import (
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// restore gives a variable the value that it had before.
func (s *state) restore(name string, before *state) {
	if v, ok := before.vars.get(s.in, name); ok {
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
	} else if computed, _ := s.integers.get(s.in, name); computed && !isNumber(value) {
		value = Item // the number that it comes to
	}
	if name == "BASH_ARGV0" {
		s.params = append([]string{value}, s.params[min(1, len(s.params)):]...)
	}
	if v := s.vars.kind(s.in, name); isList(v) {
		s.setFirst(name, v, value)
		return
	}
	set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// isList says whether a variable is an array.
func isList(v expand.Variable) bool { return v.Kind == expand.Indexed || v.Kind == expand.Associative }

// isNumber says whether a text is a decimal number as the shell prints it.
func isNumber(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(n) == text
}

// changed notes that a variable gets another value, and so do those that it is another name of. It says whether that may fail.
func (s *state) changed(name, value string) (fails bool) {
	for _, target := range s.in.references[name] {
		set(s.in, &s.vars, target, expand.Variable{Set: true, Kind: expand.String, Str: eitherOf(value)})
	}
	if has(s.in, s.integers, name) {
		s.in.evaluated(&Place{Dir: s.dir, Doubt: s.doubt, Span: s.in.span}, s, value, 0)
	}
	return has(s.in, s.readonly, name)
}

// unset leaves nothing of a variable, nor what the environment has of it.
func (s *state) unset(name string) {
	if _, inherited := s.base[name]; inherited && !own[name] {
		set(s.in, &s.vars, name, expand.Variable{})
	} else {
		unset(s.in, &s.vars, name)
	}
}

// mayCompute says of a variable whose value is computed when it is set that this may be over.
func (s *state) mayCompute(name string) {
	if has(s.in, s.integers, name) {
		set(s.in, &s.integers, name, false)
	}
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

// own are the variables that bash sets by itself, whatever the environment has.
var own = map[string]bool{"IFS": true, "OLDPWD": true, "PWD": true, "SHLVL": true, "PS1": true, "PS4": true, "BASH_VERSION": true, "BASH_VERSINFO": true, "BASHOPTS": true,
	"SHELLOPTS": true, "BASH": true, "HOSTTYPE": true,
	"MACHTYPE": true, "OSTYPE": true, "OPTERR": true, "COMP_WORDBREAKS": true}

// Get implements [expand.Environ].
func (s *state) Get(name string) expand.Variable {
	known := func(v string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: v} }
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: s.args()}
	case "#":
		if n := s.count(); n >= 0 {
			return known(strconv.Itoa(n))
		}
		return known(Item) // which may be none, or many
	case "?", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "PPID", "BASHPID", "UID", "EUID", "EPOCHSECONDS", "EPOCHREALTIME", "OPTIND",
		"BASH_SUBSHELL", "BASH_ARGC", "HISTCMD", "GROUPS":
		return known(Item) // a number, whatever is assigned
	case "BASH_COMMAND", "BASH_ARGV", "COPROC", "DIRSTACK", "FUNCNAME", "PIPESTATUS", "BASH_LINENO":
		return known(Unknown) // whatever is assigned
	case "BASH_SOURCE":
		if s.file {
			return known(s.params[0])
		}
		return known(Unknown)
	case "COLUMNS", "LINES":
		if v, ok := s.vars.get(s.in, name); ok {
			return v
		}
		return known(Item)
	case "-", "_", "HOSTNAME", "REPLY", "BASH_REMATCH", "OPTARG":
		if v, ok := s.vars.get(s.in, name); ok {
			return v
		}
		return known(Unknown)
	}
	if name != "" && (name[0] >= '0' && name[0] <= '9' || name[0] == '+') {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			return s.param(n)
		}
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return known(s.homeOf(user))
	}
	if s.in.volatile[name] {
		return known(Unknown)
	}
	if v, ok := s.vars.get(s.in, name); ok && (name != "IFS" || !HasUnknown(content(v))) {
		if refers := s.in.references[name]; len(refers) == 1 && v.Str == Unknown && !s.in.circular(name) {
			return s.Get(refers[0])
		}
		return v
	}
	if name == "PWD" && s.dir != "" {
		return known(s.here())
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

// here is the working directory as a text; it is not known where that is in doubt.
func (s *state) here() string {
	if s.doubt != "" || s.adrift {
		return "/" + Unknown
	}
	return s.dir
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
		return orUnknown(s.here())
	case name == "-":
		return s.before()
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
	for name, v := range s.vars.all(s.in) {
		if !fn(name, v) {
			return
		}
	}
}
