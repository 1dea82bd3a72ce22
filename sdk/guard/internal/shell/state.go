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

// state is what is known at one point of a program. Where branches meet, what they don't agree on isn't known.
type state struct {
	base    map[string]string          // the environment that it started with
	vars    map[string]expand.Variable // assigned since; nil values are unset ones
	funcs   map[string]*syntax.Stmt
	files   map[string]Stream   // written since, by absolute path
	exports map[string]bool     // the variables that programs get
	made    map[string][]string // the commands that printed the unknown parts of variables
	shared  bool                // the maps above may be another state's, too
	params  []string            // $0, $1, …
	locals  []string            // variables of the function that is being followed
	dir     string              // "" if it isn't known
	oldDir  string
	stack   []string // of pushd
	traps   []string // the commands that run at the end of the shell
	dead    bool     // the text ends here at an exit or return
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
		s.vars, s.funcs = maps.Clone(s.vars), maps.Clone(s.funcs)
		s.files, s.made, s.exports = maps.Clone(s.files), maps.Clone(s.made), maps.Clone(s.exports)
		s.shared = false
	}
}

// join is called where two branches meet: of what they don't agree on, nothing is known any more. A branch that ended
// doesn't count if the other goes on.
func (s *state) join(o *state) {
	s.traps = from(s.traps, o.traps)
	switch {
	case o.dead && !s.dead:
		s.keepFiles(o)
		return
	case s.dead && !o.dead:
		ended := *s
		*s = *o.clone()
		s.traps = ended.traps
		s.keepFiles(&ended)
		return
	}
	s.own()
	if o.dir != s.dir {
		s.dir = ""
	}
	if o.oldDir != s.oldDir {
		s.oldDir = ""
	}
	if !slices.Equal(s.params, o.params) {
		s.params = []string{"bash", Unknown}
	}
	s.locals = append(s.locals[:len(s.locals):len(s.locals)], o.locals...)
	for name, v := range s.vars {
		if !same(v, o.vars[name]) {
			s.set(name, Unknown, from(s.made[name], o.made[name]))
		}
	}
	for name := range o.vars {
		if _, ok := s.vars[name]; !ok {
			s.set(name, Unknown, o.made[name])
		}
	}
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok {
			s.files = put(s.files, path, content)
		} else if !before.same(content) {
			s.files = put(s.files, path, Stream{Piped: true, From: from(before.From, content.From)})
		}
	}
	for name, body := range o.funcs {
		if s.funcs[name] == nil {
			s.funcs = put(s.funcs, name, body)
		}
	}
}

func same(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List)
}

// keepFiles takes over the files that a subshell wrote: nothing else of it remains.
func (s *state) keepFiles(o *state) {
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok || !before.same(content) {
			s.own()
			s.files = put(s.files, path, content)
		}
	}
}

// exported forgets all variables but those that programs get.
func (s *state) exported() {
	for name := range s.vars {
		if _, inherited := s.base[name]; !inherited && !s.exports[name] {
			s.own()
			delete(s.vars, name)
		}
	}
}

func put[K comparable, V any](m map[K]V, key K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = v
	return m
}

// set assigns a variable; made are the commands that printed its unknown parts.
func (s *state) set(name, value string, made []string) {
	if len(value) > maxValue {
		value = Unknown
	}
	s.own()
	delete(s.made, name)
	if len(made) > 0 && HasUnknown(value) {
		s.made = put(s.made, name, made)
	}
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
	case "?", "$", "!", "-", "_", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "PPID", "BASHPID", "UID", "EUID",
		"EPOCHSECONDS",
		"EPOCHREALTIME", "HOSTNAME", "REPLY", "BASH_REMATCH", "COLUMNS", "LINES", "OPTARG", "OPTIND":
		if v, ok := s.vars[name]; ok {
			return v
		}
		return known(Unknown)
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		if n, err := strconv.Atoi(name); err == nil && n < len(s.params) {
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

// Runes that stand for something that isn't known. They are noncharacters, which [Check] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text, nobody can know which
	Unset       = "\uFDD1" // a variable that nothing has set: empty, unless the environment has it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a name that another command finds
	Temporary   = "\uFDD3" // the directory that mktemp makes new files in
)

// HasUnknown reports whether part of s isn't known.
func HasUnknown(s string) bool {
	return strings.Contains(s, Unknown) || strings.Contains(s, Unset) || strings.Contains(s, Item)
}

// Field is one argument, after all expansions.
type Field struct {
	Text string
	Glob bool // it is still a pattern, which the shell will replace by the paths that match
}

// Texts returns the texts of fields.
func Texts(fields []Field) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Text
	}
	return texts
}

// Stream is what a command reads or prints.
type Stream struct {
	Known bool
	Text  string   // if Known
	Piped bool     // it comes from another command, not from a terminal or a file
	File  string   // the file that it is read from
	From  []string // the names of the commands that made it, if it isn't known
}

// same reports whether as much is known of two streams.
func (s Stream) same(o Stream) bool { return s.Known == o.Known && s.Text == o.Text }

// Known returns the stream of a text, which may have unknown parts.
func Known(s string) Stream { return known(s) }

// text is a stream whose content is known.
func text(s string) Stream { return Stream{Known: true, Text: s, Piped: true} }

// printed is the stream of a command of which nothing is known but its name.
func printed(by string) Stream { return Stream{Piped: true, From: []string{by}} }

// then is the stream of two commands after each other.
func (s Stream) then(next Stream) Stream {
	if s.Known && next.Known && len(s.Text)+len(next.Text) <= MaxText {
		return text(s.Text + next.Text)
	}
	return Stream{Piped: true, From: from(s.From, next.From)}
}

// from unites the names of commands. There is an end to them.
func from(a, b []string) []string {
	const enough = 256
	for _, name := range b {
		if len(a) < enough && !slices.Contains(a, name) {
			a = append(a[:len(a):len(a)], name)
		}
	}
	return a
}
