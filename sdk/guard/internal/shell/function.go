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
		if has(in, st.readonly, name+"()") {
			st.mayDefine(name, body)
			return st.alone(), text("")
		}
		set(in, &st.funcs, name, body)
		if name == "command_not_found_handle" { // bash calls it by itself
			inner := st.clone()
			inner.params = []string{"bash", Unknown}
			in.function(name, body, inner, Stream{})
		}
		return st.alone(), text("")
	}
	if list.Op != syntax.Pipe && list.Op != syntax.PipeAll {
		states, _ := in.define(name, list.X, st)
		after, out := in.stmt(list.Y, blur(states).clone(), text(""))
		if list.Op == syntax.OrStmt {
			return join(append(after[:len(after):len(after)], states...)...), out
		}
		return after, out
	}
	inner := st.clone()
	_, out := in.define(name, list.X, inner)
	if defined, ok := inner.funcs.get(in, name); ok {
		st.mayDefine(name, defined) // in a shell of its own only
	}
	st.keepFiles([]*state{inner})
	states, out := in.stmt(list.Y, st.clone(), out)
	return st.keepFiles(states).alone(), out
}

// regrouped is a pipe that ends in the definition of a function, with the rest of the list behind it, which the parser takes for a part of
// the body, in its place; nil if there is no rest.
func regrouped(pipe *syntax.BinaryCmd, definition *syntax.FuncDecl) *syntax.Stmt {
	var rest []*syntax.BinaryCmd
	body := definition.Body
	for list, ok := body.Cmd.(*syntax.BinaryCmd); ok && (list.Op == syntax.AndStmt || list.Op == syntax.OrStmt); list, ok = body.Cmd.(*syntax.BinaryCmd) {
		rest, body = append(rest, list), list.X
	}
	if len(rest) == 0 {
		return nil
	}
	alone := *definition
	alone.Body = body
	at := pipe.X.Position
	whole := &syntax.Stmt{Position: at, Cmd: &syntax.BinaryCmd{Op: pipe.Op, OpPos: pipe.OpPos, X: pipe.X, Y: &syntax.Stmt{Position: definition.Position, Cmd: &alone}}}
	for _, list := range slices.Backward(rest) {
		whole = &syntax.Stmt{Position: at, Cmd: &syntax.BinaryCmd{Op: list.Op, OpPos: list.OpPos, X: whole, Y: list.Y}}
	}
	return whole
}

// redefines says whether a command may be something else here than the shell's own: a function, or an alias.
func (s *state) redefines(word string) bool {
	_, function := s.funcs.get(s.in, word)
	_, may := s.outer.get(s.in, word)
	_, alias := s.aliases.get(s.in, word)
	return function || may || alias
}

// functionCall runs a function's body and takes over what it changed. What is assigned in front of the call is so for the function.
func (in *Interpreter) functionCall(name string, body *syntax.Stmt, st *state, c *Call) Stream {
	inner := st.clone()
	inner.params = append([]string{st.Get("0").String()}, positional(c.Argv[1:])...)
	inner.depth, inner.input = inner.depth+1, nil
	for name, value := range c.Env {
		inner.shadow(name)
		inner.set(name, value)
	}
	in.returns = append(in.returns, leaving{})
	states, out := in.function(name, body, inner, c.Stdin)
	ways := in.returned()
	if on := alive(states); len(ways) == 0 || len(on) > 0 && !on[0].dead {
		ways = append(on, ways...)
	}
	after := blur(ways)
	after.unshadow()
	if after.input == nil {
		after.input = st.input
	}
	after.params, after.depth, after.dead = st.params, st.depth, false
	st.become(after)
	return out
}

// alive are the ways that go on, or all if none does.
func alive(states []*state) []*state {
	if on := slices.DeleteFunc(slices.Clone(states), func(s *state) bool { return s.dead }); len(on) > 0 {
		return on
	}
	return states
}

// returned are the ways that have returned from what is being followed, which ends.
func (in *Interpreter) returned() []*state {
	last := len(in.returns) - 1
	ways := in.returns[last].ways
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
		if f.name == name && f.body == body && (slices.Equal(f.params, st.params) || again > maxRecursion) {
			return st.alone(), Stream{Piped: true, From: From(name)}
		}
	}
	if in.called == nil {
		in.called = map[*syntax.Stmt]bool{}
	}
	in.called[body] = true
	in.calls = append(in.calls, frame{name: name, parallel: in.parallel, params: st.params, body: body})
	defer func() { in.calls = in.calls[:len(in.calls)-1] }()
	return in.stmt(body, st, stdin)
}

// recursive says whether the function that is being followed has called itself. Its loops need no further rounds then, as what they
// carry on is followed where it was called first.
func (in *Interpreter) recursive() bool {
	last := len(in.calls) - 1
	return last > 0 && slices.ContainsFunc(in.calls[:last], func(f frame) bool { return f.name == in.calls[last].name })
}

// maxBodies is how many bodies of one function are followed.
const maxBodies = 16

// mayDefine notes that a function may have a body, besides those that it may have already.
func (s *state) mayDefine(name string, body *syntax.Stmt) {
	before, ok := s.outer.get(s.in, name)
	if !ok {
		set(s.in, &s.outer, name, body)
		return
	}
	bodies := s.in.bodies(before)
	added := slices.Clone(bodies)
	for _, other := range s.in.bodies(body) {
		if !slices.Contains(added, other) {
			added = append(added, other)
		}
	}
	if len(added) == len(bodies) {
		return
	}
	if len(added) > maxBodies {
		s.in.problem(s.in.place(body, s), TooComplex, "the function "+name+" may be too many different ones")
		return
	}
	pair := [2]*syntax.Stmt{before, body}
	either := s.in.united[pair]
	if either == nil {
		if s.in.united == nil {
			s.in.united, s.in.alternatives = map[[2]*syntax.Stmt]*syntax.Stmt{}, map[*syntax.Stmt][]*syntax.Stmt{}
		}
		either = &syntax.Stmt{Position: before.Position}
		s.in.united[pair], s.in.alternatives[either] = either, added
	}
	set(s.in, &s.outer, name, either)
}

// bodies are those that a function may have which may have several.
func (in *Interpreter) bodies(body *syntax.Stmt) []*syntax.Stmt {
	if several := in.alternatives[body]; several != nil {
		return several
	}
	return []*syntax.Stmt{body}
}
