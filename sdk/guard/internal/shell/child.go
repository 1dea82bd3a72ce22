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
		for name, body := range c.funcs.all() {
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
	s.exported = append(s.exported[:len(s.exported):len(s.exported)], name)
}

// unexport notes that new shells may not get a variable.
func (s *state) unexport(name string) {
	s.exported = slices.DeleteFunc(slices.Clone(s.exported), func(exported string) bool { return exported == name })
}

// inherited says whether new shells certainly get a variable.
func (s *state) inherited(name string) bool {
	_, ok := s.base[name]
	for _, exported := range s.exported {
		ok = ok || exported == name
	}
	return ok
}

// start follows text as the program of a new shell. Variables of this one that it mentions and may not have got are followed both ways.
func (c *Call) start(text string, params []string, stdin Stream, file bool) Stream {
	first := c.state.child(c.Env)
	first.file = file && len(params) > 0
	if len(params) > 0 {
		first.params = params
	}
	cleared := slices.Contains(c.Via, "env") || slices.Contains(c.Via, "exec") // which may take any of them away
	lacking := first.vars.keys(func(name string) bool {
		c.in.work += perWord
		return len(name) > 0 && strings.Contains(text, name) && (cleared && c.Env[name] == "" || !first.inherited(name))
	})
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
