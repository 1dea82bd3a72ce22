package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// define defines a function. The parser takes the rest of a list or pipe for a part of the body, where the shell takes the definition
// for a command of it.
func (in *Interpreter) define(name string, body *syntax.Stmt, st *state) ([]*state, Stream) {
	list, ok := body.Cmd.(*syntax.BinaryCmd)
	if !ok {
		set(in, &st.funcs, name, body)
		return st.alone(), text("")
	}
	if list.Op != syntax.Pipe && list.Op != syntax.PipeAll {
		states, _ := in.define(name, list.X, st)
		after, out := in.stmt(list.Y, blur(states), text(""))
		return join(append(after[:len(after):len(after)], states...)...), out
	}
	inner := st.clone()
	_, out := in.define(name, list.X, inner)
	if defined, ok := inner.funcs.get(name); ok {
		set(in, &st.outer, name, defined) // in a shell of its own only
	}
	states, out := in.stmt(list.Y, st.clone(), out)
	return st.keepFiles(states).alone(), out
}

// functionCall runs a function's body and takes over what it changed. What is assigned in front of the call is so for the function.
func (in *Interpreter) functionCall(name string, body *syntax.Stmt, st *state, c *Call) Stream {
	inner := st.clone()
	inner.params = append([]string{"bash"}, c.Texts()[1:]...)
	inner.locals, inner.input = nil, nil
	for name, value := range c.Env {
		inner.set(name, value)
		inner.locals = append(inner.locals, name)
	}
	in.returns = append(in.returns, nil)
	states, out := in.function(name, body, inner, c.Stdin)
	after, outer := blur(append(states[:len(states):len(states)], in.returned()...)), st.clone()
	if after.input == nil {
		after.input = outer.input
	}
	st.become(after)
	for _, name := range after.locals {
		st.restore(name, outer)
	}
	st.params, st.locals, st.dead = outer.params, outer.locals, false
	return out
}

// returned are the ways that have returned from what is being followed, which ends.
func (in *Interpreter) returned() []*state {
	last := len(in.returns) - 1
	ways := in.returns[last]
	in.returns = in.returns[:last]
	return ways
}

// maxRecursion is how often a function is followed that calls itself with other arguments, before these count as not known.
const maxRecursion = 8

// function follows a function's body, unless it is being followed already with the same arguments. A function that calls itself in
// parallel is a fork bomb.
func (in *Interpreter) function(name string, body *syntax.Stmt, st *state, stdin Stream) ([]*state, Stream) {
	again := 0
	for _, f := range in.calls {
		if f.name != name {
			continue
		}
		if in.parallel > f.parallel {
			in.problem(in.place(body, st), ForkBomb, "the function "+name+" starts itself in parallel without end")
			return st.alone(), Stream{Piped: true, From: From(name)}
		}
		if again++; again == maxRecursion {
			st.params = []string{"bash", Unknown}
		}
	}
	for _, f := range in.calls {
		if f.name == name && (slices.Equal(f.params, st.params) || again > maxRecursion) {
			return st.alone(), Stream{Piped: true, From: From(name)}
		}
	}
	if in.called == nil {
		in.called = map[*syntax.Stmt]bool{}
	}
	in.called[body] = true
	in.calls = append(in.calls, frame{name: name, parallel: in.parallel, params: st.params})
	defer func() { in.calls = in.calls[:len(in.calls)-1] }()
	return in.stmt(body, st, stdin)
}
