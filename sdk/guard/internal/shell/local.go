package shell

import (
	"slices"

	"mvdan.cc/sh/v3/expand"
)

// local is a variable of one of the functions that are being followed.
type local struct {
	name     string
	depth    int             // of the function
	assigned bool            // whether there was one of that name before
	before   expand.Variable // what it is again when the function ends
}

func (l local) same(o local) bool {
	return l.name == o.name && l.depth == o.depth && l.assigned == o.assigned && sameVariable(l.before, o.before)
}

// mayBeOther says whether the shell that runs the code may be another one than bash: dash, or busybox.
func (in *Interpreter) mayBeOther() bool { return in.posix || in.depth > 1 }

// declareLocal makes a variable one of the function that is being followed, without a value. Some shells leave it the one that it had.
func (s *state) declareLocal(name string) {
	before := s.Get(name)
	if s.shadow(name); !s.in.mayBeOther() || !before.IsSet() {
		s.unset(name)
		return
	}
	value := Unset
	if text := eitherOf(before.String()); text != Unknown {
		value = text
	}
	set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// shadow makes a variable one of the function that is being followed, unless it is one already.
func (s *state) shadow(name string) {
	if slices.ContainsFunc(s.locals, func(l local) bool { return l.name == name && l.depth == s.depth }) {
		return
	}
	before, ok := s.vars.get(s.in, name)
	s.locals = append(s.locals[:len(s.locals):len(s.locals)], local{name: name, depth: s.depth, assigned: ok, before: before})
}

// unshadow makes the variables of the function that ends what they were before it had them.
func (s *state) unshadow() {
	for len(s.locals) > 0 {
		l := s.locals[len(s.locals)-1]
		if l.depth < s.depth {
			return
		}
		s.mayCompute(l.name)
		if s.locals = s.locals[:len(s.locals)-1]; l.assigned {
			set(s.in, &s.vars, l.name, l.before)
		} else {
			unset(s.in, &s.vars, l.name)
		}
	}
}

// localsOf leaves those variables local that are so on another way, too, instead of the same ones. What the others are when the function
// ends isn't known.
func (s *state) localsOf(o *state) {
	if slices.EqualFunc(s.locals, o.locals, local.same) {
		return
	}
	var both []local
	for _, l := range s.locals {
		if slices.ContainsFunc(o.locals, l.same) {
			both = append(both, l)
		} else {
			s.set(l.name, Unknown)
		}
	}
	for _, l := range o.locals {
		if !slices.ContainsFunc(both, l.same) {
			s.set(l.name, Unknown)
		}
	}
	s.locals = both
}

// mayShow gives up following a variable of a function that another one, which it calls, may unset, or that is set beside it: what is
// seen then is the one that was there before.
func (s *state) mayShow(name string, own bool) {
	if !slices.ContainsFunc(s.locals, func(l local) bool { return l.name == name && (own || l.depth < s.depth) }) {
		return
	}
	if s.in.volatile == nil {
		s.in.volatile = map[string]bool{}
	}
	s.in.volatile[name] = true
}
