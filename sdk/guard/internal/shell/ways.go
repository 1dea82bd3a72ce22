package shell

import (
	"iter"
	"slices"
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
		if !slices.Equal(s.params, o.params) {
			s.params = []string{Unknown, Unknown}
			if len(o.params) > 0 && len(states[0].params) > 0 && o.params[0] == states[0].params[0] {
				s.params[0] = o.params[0]
			}
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
