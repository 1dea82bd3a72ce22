package shell

import (
	"maps"
	"path/filepath"
	"slices"

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
	file     bool           // $0 is the file that the code is in
	locals   []local        // variables of the functions that are being followed
	depth    int            // how many functions that are
	integers *table[bool]   // variables whose values are computed when they are set; false if that may be so
	readonly *table[bool]   // variables that can't be set
	exported *table[bool]   // variables that new shells get
	dir      string         // "" if it isn't known
	doubt    string         // where it is instead, if the directory that it entered doesn't exist; "" if it does
	adrift   bool           // it may be elsewhere: where fewer steps up lead out is dir
	strict   bool           // a command that fails ends the way (set -e)
	oldDir   *string        // where it was before; nil if it has been nowhere else
	stack    []string       // of pushd
	dead     bool           // this way ends at an exit or return
	trap     string         // what runs when the shell ends, or at a signal
	trapped  *run           // how the trap was last followed; nil if it wasn't
	drained  bool           // something may have read what there is to read, or a part of it
	input    *Stream        // what exec has made the standard input of all that follows; nil if it hasn't
	printer  *sink          // where exec has made all that follows print to; nil if it hasn't
	self     [1]*state
}

// clone returns a copy.
func (s *state) clone() *state {
	c := &s.in.states.list(1)[:1][0]
	*c = *s
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
	return s.dir == o.dir && s.doubt == o.doubt && s.adrift == o.adrift && s.strict == o.strict && s.in.sameText(s.oldDir, o.oldDir) && s.dead == o.dead && s.depth == o.depth && s.drained == o.drained && slices.Equal(s.stack, o.stack) && slices.EqualFunc(s.locals, o.locals, local.same) && s.trap == o.trap && s.input == o.input && s.printer == o.printer &&
		same(s.in, s.aliases, o.aliases, identical) && same(s.in, s.funcs, o.funcs, identical) && same(s.in, s.outer, o.outer, identical) && slices.Equal(s.params, o.params) &&
		same(s.in, s.integers, o.integers, identical) && same(s.in, s.readonly, o.readonly, identical) && same(s.in, s.exported, o.exported, identical) &&
		same(s.in, s.vars, o.vars, sameVariable) && same(s.in, s.files, o.files, Stream.same)
}

// settles says whether nothing has changed since that the next round of a loop could act upon. Files grow with each round.
func (s *state) settles(before *state) bool {
	return s.dir == before.dir && s.adrift == before.adrift && s.in.sameText(s.oldDir, before.oldDir) && slices.Equal(s.params, before.params) && slices.Equal(s.stack, before.stack) &&
		same(s.in, s.vars, before.vars, sameVariable) && same(s.in, s.funcs, before.funcs, identical)
}

func identical[V comparable](a, b V) bool { return a == b }

func sameVariable(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List) && slices.Equal(a.Indexes, b.Indexes) && maps.Equal(a.Map, b.Map)
}

// sameText says whether two texts are the same, either of which there may not be.
func (in *Interpreter) sameText(a, b *string) bool {
	if a == b {
		return true
	}
	in.lookedAt(a)
	in.lookedAt(b)
	return a != nil && b != nil && *a == *b
}

// abs returns the absolute form of a path in this state; without a known directory the path itself.
func (s *state) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return s.in.paths.Join(s.dir, path)
}
