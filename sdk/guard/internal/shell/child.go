package shell

import (
	"slices"
	"strings"
)

// child is the state of a new shell. Functions may have come to it by the environment, and aliases and IFS have not.
func (s *state) child(env map[string]string) *state {
	c := s.clone()
	if c.outer == nil {
		c.outer = c.funcs
	} else if c.funcs != nil {
		for name, body := range c.funcs.all(s.in) {
			s.in.work += perWord
			c.mayDefine(name, body)
		}
	}
	c.funcs, c.aliases, c.readonly, c.integers, c.file = nil, nil, nil, nil, false
	unset(s.in, &c.vars, "IFS")
	for name, value := range env {
		c.set(name, value)
		c.export(name)
	}
	return c
}

// export notes that new shells get a variable.
func (s *state) export(name string) {
	if s.inherited(name) {
		return
	}
	set(s.in, &s.exported, name, true)
}

// unexport notes that new shells may not get a variable.
func (s *state) unexport(name string) {
	unset(s.in, &s.exported, name)
}

// inherited says whether new shells certainly get a variable.
func (s *state) inherited(name string) bool {
	_, ok := s.base[name]
	return ok || has(s.in, s.exported, name)
}

// mentions says whether a name stands in a text by itself, not as a part of another one.
func mentions(text, name string) bool {
	for rest := text; name != ""; {
		at := strings.Index(rest, name)
		if at < 0 {
			return false
		}
		end := at + len(name)
		if (at == 0 || !nameByte(rest[at-1], true)) && (end == len(rest) || !nameByte(rest[end], true)) {
			return true
		}
		rest = rest[at+1:]
	}
	return false
}

// start follows text as the program of a new shell. Variables of this one that it mentions and may not have got are followed both ways.
func (c *Call) start(text string, params []string, stdin Stream, file bool) Stream {
	first := c.state.child(c.Env)
	first.file = file && len(params) > 0
	if len(params) > 0 {
		first.params = c.positional(params)
	}
	cleared := slices.Contains(c.Via, "env") || slices.Contains(c.Via, "exec") // which may take any of them away
	mentioned := first.vars.keys(c.in, func(name string) bool {
		c.in.work += perWord
		return mentions(text, name)
	})
	lacking := slices.DeleteFunc(mentioned, func(name string) bool { return (!cleared || c.Env[name] != "") && first.inherited(name) })
	var second *state
	if len(lacking) > 0 || cleared {
		second = first.clone()
		if cleared {
			second.base = nil
		}
		for _, name := range lacking {
			unset(c.in, &second.vars, name)
		}
	}
	states, out := c.in.code(&c.Place, text, first, stdin)
	if second != nil {
		more, other := c.in.code(&c.Place, text, second, stdin)
		states, out = append(states[:len(states):len(states)], more...), out.or(other)
	}
	c.state.keepFiles(states)
	return out
}
