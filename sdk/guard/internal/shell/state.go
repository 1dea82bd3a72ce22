package shell

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shellState is the known state of the shell at one point of the text. Where branches join, a value that differs
// between them becomes unknown.
type shellState struct {
	baseEnv     map[string]string          // the initial environment
	vars        map[string]expand.Variable // assigned since the start; nil values are unset ones
	funcs       map[string]*syntax.Stmt
	files       map[string]StreamContent // content of written files, by absolute path
	exports     map[string]bool          // exported variables
	unknownFrom map[string][]string      // commands that printed the unknown parts of variables
	shared      bool                     // another state may use the same maps
	params      []string                 // $0, $1, …
	locals      []string                 // local variables of the current function
	dir         string                   // "" if unknown
	oldDir      string
	dirStack    []string // of pushd
	traps       []string // commands to run at the end of the shell
	isDead      bool     // an exit or return makes the following commands unreachable
}

// cloneState returns a copy. The copies share their maps until one of them changes.
func (s *shellState) cloneState() *shellState {
	s.shared = true
	c := *s
	return &c
}

// unshareMaps copies shared maps. Call it before a change.
func (s *shellState) unshareMaps() {
	if s.shared {
		s.vars, s.funcs = maps.Clone(s.vars), maps.Clone(s.funcs)
		s.files, s.unknownFrom, s.exports = maps.Clone(s.files), maps.Clone(s.unknownFrom), maps.Clone(s.exports)
		s.shared = false
	}
}

// joinBranch joins the state after another branch: values that differ become unknown. If only one branch ended the
// shell, the state of the other branch remains, with the written files of both.
func (s *shellState) joinBranch(o *shellState) {
	s.traps = mergeCommandNames(s.traps, o.traps)
	switch {
	case o.isDead && !s.isDead:
		s.mergeWrittenFiles(o)
		return
	case s.isDead && !o.isDead:
		deadBranch := *s
		*s = *o.cloneState()
		s.traps = deadBranch.traps
		s.mergeWrittenFiles(&deadBranch)
		return
	}
	s.unshareMaps()
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
		if !sameVariable(v, o.vars[name]) {
			s.setVar(name, Unknown, mergeCommandNames(s.unknownFrom[name], o.unknownFrom[name]))
		}
	}
	for name := range o.vars {
		if _, ok := s.vars[name]; !ok {
			s.setVar(name, Unknown, o.unknownFrom[name])
		}
	}
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok {
			s.files = setMapEntry(s.files, path, content)
		} else if !before.sameContent(content) {
			s.files = setMapEntry(s.files, path, StreamContent{Piped: true, From: mergeCommandNames(before.From, content.From)})
		}
	}
	for name, body := range o.funcs {
		if s.funcs[name] == nil {
			s.funcs = setMapEntry(s.funcs, name, body)
		}
	}
}

func sameVariable(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List)
}

// mergeWrittenFiles adds the files that a subshell wrote, not its other changes.
func (s *shellState) mergeWrittenFiles(o *shellState) {
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok || !before.sameContent(content) {
			s.unshareMaps()
			s.files = setMapEntry(s.files, path, content)
		}
	}
}

// dropUnexportedVars removes all variables that are not exported.
func (s *shellState) dropUnexportedVars() {
	for name := range s.vars {
		if _, inherited := s.baseEnv[name]; !inherited && !s.exports[name] {
			s.unshareMaps()
			delete(s.vars, name)
		}
	}
}

// setMapEntry sets a key of a map and returns the map. It creates a nil map.
func setMapEntry[K comparable, V any](m map[K]V, key K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = v
	return m
}

// setVar assigns a variable. unknownFrom names the commands that printed the unknown parts of the value.
func (s *shellState) setVar(name, value string, unknownFrom []string) {
	if len(value) > maxValue {
		value = Unknown
	}
	s.unshareMaps()
	delete(s.unknownFrom, name)
	if len(unknownFrom) > 0 && HasUnknown(value) {
		s.unknownFrom = setMapEntry(s.unknownFrom, name, unknownFrom)
	}
	s.vars = setMapEntry(s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// setListVar assigns an array variable.
func (s *shellState) setListVar(name string, list []string) {
	size := 0
	for _, item := range list {
		size += len(item) + 1
	}
	if size > maxValue {
		list = []string{Unknown}
	}
	s.unshareMaps()
	s.vars = setMapEntry(s.vars, name, expand.Variable{Set: true, Kind: expand.Indexed, List: list})
}

// absPath returns the absolute form of a path. If the working directory is unknown, it returns a relative path.
func (s *shellState) absPath(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// recordFileContent records the content that a command writes to a file.
func (s *shellState) recordFileContent(path string, content StreamContent) {
	s.unshareMaps()
	s.files = setMapEntry(s.files, s.absPath(path), content)
}

// Get returns a variable. It implements [expand.Environ].
func (s *shellState) Get(name string) expand.Variable {
	known := func(v string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: v} }
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: s.positionalArgs()}
	case "#":
		return known(strconv.Itoa(len(s.positionalArgs())))
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
		return known(s.expandTilde(user))
	}
	if v, ok := s.vars[name]; ok {
		return v
	}
	if name == "PWD" && s.dir != "" {
		return known(s.dir)
	}
	if v, ok := s.baseEnv[name]; ok {
		return known(v)
	}
	switch name {
	case "IFS":
		return known(" \t\n")
	case "HOME":
		return known("/" + Unknown) // every shell has one, and it is absolute
	case "OLDPWD":
		return known(cmp.Or(s.oldDir, "/"+Unknown))
	}
	return expand.Variable{}
}

// positionalArgs returns $1 and the following positional parameters.
func (s *shellState) positionalArgs() []string {
	if len(s.params) == 0 {
		return nil
	}
	return s.params[1:]
}

func (s *shellState) expandTilde(name string) string {
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

// Set assigns a variable for expansions such as ${x:=y}. It implements [expand.WriteEnviron].
func (s *shellState) Set(name string, v expand.Variable) error {
	if len(v.Str) > maxValue {
		v.Str = Unknown
	}
	s.unshareMaps()
	s.vars = setMapEntry(s.vars, name, v)
	return nil
}

// Each calls fn for each assigned variable until fn returns false. It implements [expand.Environ].
func (s *shellState) Each(fn func(string, expand.Variable) bool) {
	for name, v := range s.vars {
		if !fn(name, v) {
			return
		}
	}
}

// Marks that replace unknown parts of a text. They are noncharacters, which [CheckCommandText] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text
	Unset       = "\uFDD1" // a variable that the text doesn't set: empty, unless the environment sets it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a file name that another command supplies
	Temporary   = "\uFDD3" // the directory of temporary files
)

// HasUnknown reports whether a text contains an unknown part.
func HasUnknown(s string) bool {
	return strings.Contains(s, Unknown) || strings.Contains(s, Unset) || strings.Contains(s, Item)
}

// Argument is one command argument after all expansions.
type Argument struct {
	Text string
	Glob bool // still a pattern, which the shell replaces by matching paths
}

// PlainArguments returns arguments with the given texts and without patterns.
func PlainArguments(texts ...string) []Argument {
	out := make([]Argument, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}

// ArgumentTexts returns the texts of arguments.
func ArgumentTexts(fields []Argument) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Text
	}
	return texts
}

// StreamContent is the input or output of a command, whose content may be known.
type StreamContent struct {
	Known bool
	Text  string   // if Known
	Piped bool     // from another command, not from a terminal or a file
	File  string   // file that it is read from
	From  []string // if unknown: names of the commands that produce it
}

// sameContent reports whether two streams have the same known content.
func (s StreamContent) sameContent(o StreamContent) bool {
	return s.Known == o.Known && s.Text == o.Text
}

func knownStream(s string) StreamContent { return StreamContent{Known: true, Text: s, Piped: true} }

func unknownStream(by string) StreamContent { return StreamContent{Piped: true, From: []string{by}} }

// appendStream returns the stream of two commands in sequence.
func (s StreamContent) appendStream(next StreamContent) StreamContent {
	if s.Known && next.Known && len(s.Text)+len(next.Text) <= MaxText {
		return knownStream(s.Text + next.Text)
	}
	return StreamContent{Piped: true, From: mergeCommandNames(s.From, next.From)}
}

// mergeCommandNames adds the new names in b to a, up to a limit.
func mergeCommandNames(a, b []string) []string {
	const maxNames = 256
	for _, name := range b {
		if len(a) < maxNames && !slices.Contains(a, name) {
			a = append(a[:len(a):len(a)], name)
		}
	}
	return a
}
