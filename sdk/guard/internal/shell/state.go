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

// state is the known state of the shell at one point. Where branches meet, a value that differs between them becomes
// unknown.
type state struct {
	baseEnv     map[string]string          // the initial environment
	vars        map[string]expand.Variable // assigned since; nil values are unset ones
	funcs       map[string]*syntax.Stmt
	files       map[string]Stream   // written files by absolute path
	exports     map[string]bool     // exported variables
	unknownFrom map[string][]string // commands that printed the unknown parts of variables
	shared      bool                // another state may use the same maps
	params      []string            // $0, $1, …
	locals      []string            // local variables of the current function
	dir         string              // "" if unknown
	oldDir      string
	dirStack    []string // of pushd
	traps       []string // commands to run at the end of the shell
	isDead      bool     // an exit or return makes the rest unreachable
}

// cloneState returns a copy. Both share their maps until one of them changes.
func (s *state) cloneState() *state {
	s.shared = true
	c := *s
	return &c
}

// unshareMaps copies shared maps. Call it before you change them.
func (s *state) unshareMaps() {
	if s.shared {
		s.vars, s.funcs = maps.Clone(s.vars), maps.Clone(s.funcs)
		s.files, s.unknownFrom, s.exports = maps.Clone(s.files), maps.Clone(s.unknownFrom), maps.Clone(s.exports)
		s.shared = false
	}
}

// joinBranch joins the state of another branch: values that differ become unknown. A branch that has ended counts
// only for its files, unless both have.
func (s *state) joinBranch(o *state) {
	s.traps = mergeNames(s.traps, o.traps)
	switch {
	case o.isDead && !s.isDead:
		s.keepFiles(o)
		return
	case s.isDead && !o.isDead:
		deadBranch := *s
		*s = *o.cloneState()
		s.traps = deadBranch.traps
		s.keepFiles(&deadBranch)
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
			s.setVar(name, Unknown, mergeNames(s.unknownFrom[name], o.unknownFrom[name]))
		}
	}
	for name := range o.vars {
		if _, ok := s.vars[name]; !ok {
			s.setVar(name, Unknown, o.unknownFrom[name])
		}
	}
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok {
			s.files = putEntry(s.files, path, content)
		} else if !before.sameContent(content) {
			s.files = putEntry(s.files, path, Stream{Piped: true, From: mergeNames(before.From, content.From)})
		}
	}
	for name, body := range o.funcs {
		if s.funcs[name] == nil {
			s.funcs = putEntry(s.funcs, name, body)
		}
	}
}

func sameVariable(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List)
}

// keepFiles keeps the files that a subshell wrote, which are all that remains of it.
func (s *state) keepFiles(o *state) {
	for path, content := range o.files {
		if before, ok := s.files[path]; !ok || !before.sameContent(content) {
			s.unshareMaps()
			s.files = putEntry(s.files, path, content)
		}
	}
}

// dropUnexported removes all variables that are not exported.
func (s *state) dropUnexported() {
	for name := range s.vars {
		if _, inherited := s.baseEnv[name]; !inherited && !s.exports[name] {
			s.unshareMaps()
			delete(s.vars, name)
		}
	}
}

// putEntry sets a key of a map, which may be nil, and returns the map.
func putEntry[K comparable, V any](m map[K]V, key K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = v
	return m
}

// setVar assigns a variable. unknownFrom names the commands that printed its unknown parts.
func (s *state) setVar(name, value string, unknownFrom []string) {
	if len(value) > maxValue {
		value = Unknown
	}
	s.unshareMaps()
	delete(s.unknownFrom, name)
	if len(unknownFrom) > 0 && HasUnknown(value) {
		s.unknownFrom = putEntry(s.unknownFrom, name, unknownFrom)
	}
	s.vars = putEntry(s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// setListVar assigns an array.
func (s *state) setListVar(name string, list []string) {
	size := 0
	for _, item := range list {
		size += len(item) + 1
	}
	if size > maxValue {
		list = []string{Unknown}
	}
	s.unshareMaps()
	s.vars = putEntry(s.vars, name, expand.Variable{Set: true, Kind: expand.Indexed, List: list})
}

// absPath returns the absolute form of a path, or the path itself if the working directory is unknown.
func (s *state) absPath(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// writeFile records the content of a file.
func (s *state) writeFile(path string, content Stream) {
	s.unshareMaps()
	s.files = putEntry(s.files, s.absPath(path), content)
}

// Get implements [expand.Environ].
func (s *state) Get(name string) expand.Variable {
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

// positionalArgs returns the positional parameters without $0.
func (s *state) positionalArgs() []string {
	if len(s.params) == 0 {
		return nil
	}
	return s.params[1:]
}

// expandTilde returns the directory that "~name" means.
func (s *state) expandTilde(name string) string {
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
	s.unshareMaps()
	s.vars = putEntry(s.vars, name, v)
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

// Marks of unknown parts. They are noncharacters, which [CheckText] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text
	Unset       = "\uFDD1" // a variable that the text doesn't set: empty, unless the environment sets it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a file name that another command supplies
	Temporary   = "\uFDD3" // the directory of temporary files
)

// HasUnknown reports whether a part of s is unknown.
func HasUnknown(s string) bool {
	return strings.Contains(s, Unknown) || strings.Contains(s, Unset) || strings.Contains(s, Item)
}

// Field is one argument, after all expansions.
type Field struct {
	Text string
	Glob bool // still a pattern, which the shell will replace by matching paths
}

// FieldTexts returns the texts of fields.
func FieldTexts(fields []Field) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Text
	}
	return texts
}

// Stream is the input or output of a command.
type Stream struct {
	Known bool
	Text  string   // if Known
	Piped bool     // from another command, not from a terminal or a file
	File  string   // the file it is read from
	From  []string // names of the commands that produced it, if unknown
}

// sameContent reports whether two streams have the same known content.
func (s Stream) sameContent(o Stream) bool { return s.Known == o.Known && s.Text == o.Text }

// StreamOf returns the stream of a text that may have unknown parts.
func StreamOf(s string) Stream { return streamOf(s) }

// knownStream returns a stream with known content.
func knownStream(s string) Stream { return Stream{Known: true, Text: s, Piped: true} }

// unknownStream returns the stream of a command with unknown output.
func unknownStream(by string) Stream { return Stream{Piped: true, From: []string{by}} }

// appendStream returns the stream of two commands in sequence.
func (s Stream) appendStream(next Stream) Stream {
	if s.Known && next.Known && len(s.Text)+len(next.Text) <= MaxText {
		return knownStream(s.Text + next.Text)
	}
	return Stream{Piped: true, From: mergeNames(s.From, next.From)}
}

// mergeNames merges lists of command names, up to a limit.
func mergeNames(a, b []string) []string {
	const maxNames = 256
	for _, name := range b {
		if len(a) < maxNames && !slices.Contains(a, name) {
			a = append(a[:len(a):len(a)], name)
		}
	}
	return a
}
