package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

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
		changes(s.in, s.vars, o.vars, func(ours, theirs *entry[expand.Variable]) bool {
			if a, b := ours.content(), theirs.content(); !sameVariable(a, b) {
				s.either(either(ours, theirs).key, a, b)
			}
			return true
		})
		changes(s.in, s.files, o.files, func(ours, theirs *entry[Stream]) bool {
			if theirs != nil && (ours == nil || !ours.value.same(theirs.value)) {
				set(s.in, &s.files, theirs.key, Stream{Piped: true, Text: ours.content().or(theirs.value).Text, From: From("several ways")})
			}
			return true
		})
		changes(s.in, s.funcs, o.funcs, func(ours, theirs *entry[*syntax.Stmt]) bool {
			switch {
			case theirs == nil:
				s.mayDefine(ours.key, ours.value)
				unset(s.in, &s.funcs, ours.key)
			case ours.content() != theirs.value:
				s.mayDefine(theirs.key, theirs.value)
			}
			return true
		})
		changes(s.in, s.outer, o.outer, func(_, theirs *entry[*syntax.Stmt]) bool {
			if theirs != nil {
				s.mayDefine(theirs.key, theirs.value)
			}
			return true
		})
		s.localsOf(o)
		if !slices.Equal(s.params, o.params) {
			s.params = []string{Unknown, Unknown}
			if len(o.params) > 0 && len(states[0].params) > 0 && o.params[0] == states[0].params[0] {
				s.params[0] = o.params[0]
			}
		}
		changes(s.in, s.integers, o.integers, func(ours, theirs *entry[bool]) bool {
			set(s.in, &s.integers, either(ours, theirs).key, false)
			return true
		})
		takeOver(s.in, &s.readonly, o.readonly)
		takeOver(s.in, &s.aliases, o.aliases)
		changes(s.in, s.exported, o.exported, func(ours, theirs *entry[bool]) bool {
			if theirs == nil {
				s.unexport(ours.key) // new shells may not get it
			}
			return true
		})
		s.drained = s.drained || o.drained
		s.eitherDir(o)
		if o.trap != s.trap && o.trap != "" {
			s.in.ends([]*state{o})
		}
	}
	return s
}

// takeOver sets in a table what another one has.
func takeOver[V any](in *Interpreter, t **table[V], from *table[V]) {
	changes(in, *t, from, func(_, theirs *entry[V]) bool {
		if theirs != nil {
			set(in, t, theirs.key, theirs.value)
		}
		return true
	})
}

// eitherDir takes the directory over that a shell is in on another way: of two, the one that fewer steps up lead out of counts.
func (s *state) eitherDir(o *state) {
	s.adrift = s.adrift || o.adrift || s.dir != o.dir
	if o.dir != "" && strings.Count(o.dir, "/") < strings.Count(s.dir, "/") {
		s.dir = o.dir
	}
	if s.doubt == "" || o.doubt != "" && strings.Count(o.doubt, "/") < strings.Count(s.doubt, "/") {
		s.doubt = o.doubt
	}
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
	if s.files == nil {
		s.files = from[0].files
		return s
	}
	changes(s.in, s.files, from[0].files, func(before, written *entry[Stream]) bool {
		if written != nil && (before == nil || !before.value.same(written.value)) {
			set(s.in, &s.files, written.key, written.value)
		}
		return true
	})
	return s
}
