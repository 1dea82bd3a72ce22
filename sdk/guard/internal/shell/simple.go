package shell

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// simple follows a simple command: assignments, arguments, redirections, then the command itself.
func (in *Interpreter) simple(s *syntax.Stmt, c *syntax.CallExpr, st *state, stdin Stream, place *Place) Stream {
	x := in.expansion(st, place)
	argv := x.fields(c.Args)
	env := map[string]string(nil)
	if len(c.Args) == 0 {
		in.assignments(c.Assigns, st, x)
	} else if len(c.Assigns) > 0 {
		env = make(map[string]string, len(c.Assigns))
		for _, a := range c.Assigns {
			if a.Name != nil {
				env[a.Name.Value] = x.assigned(a.Value)
			}
		}
	}
	r := in.redirects(s.Redirs, st, stdin, place)
	if len(argv) == 0 {
		out := text("")
		switch {
		case len(c.Args) > 0:
			in.visitor.Problem(place, Problem{Kind: Dynamic, Reason: "the command word expands to nothing", From: x.from})
		case len(c.Assigns) > 0 && in.raw(s) != "":
			in.visitor.Call(&Call{Place: *place, Env: assigned(c.Assigns, st), in: in, state: st, raw: in.raw(s)})
		}
		return r.output(st, out)
	}
	call := &Call{Place: *place, Argv: argv, Env: env, Stdin: r.stdin, From: x.from, in: in, raw: in.raw(s)}
	out := in.call(call, st)
	if !out.Known && len(out.From) == 0 {
		out.From = append([]string{Name(argv[0].Text)}, x.from...)
	}
	return r.output(st, out)
}

// assigned is what the assignments of a command without words have set.
func assigned(list []*syntax.Assign, st *state) map[string]string {
	env := make(map[string]string, len(list))
	for _, a := range list {
		if a.Name != nil {
			env[a.Name.Value] = st.Get(a.Name.Value).String()
		}
	}
	return env
}

// assignments sets the variables of a command without words, or of a declaration.
func (in *Interpreter) assignments(list []*syntax.Assign, st *state, x *expansion) {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		name := a.Name.Value
		switch {
		case a.Naked:
		case a.Array != nil:
			in.array(a, st, x)
		case a.Index != nil:
			x.arithmUnknown(a.Index)
			x.assigned(a.Value)
			st.setList(name, []string{Unknown})
		case a.Append:
			before := st.Get(name)
			if before.Kind == expand.Indexed {
				st.setList(name, []string{Unknown})
				continue
			}
			value := x.assigned(a.Value)
			st.set(name, before.String()+value, from(st.made[name], x.from))
		default:
			value := x.assigned(a.Value)
			st.set(name, value, x.from)
		}
	}
}

// array sets a whole array.
func (in *Interpreter) array(a *syntax.Assign, st *state, x *expansion) {
	var list []string
	if a.Append {
		list = append(list, st.Get(a.Name.Value).List...)
	}
	for _, elem := range a.Array.Elems {
		if elem.Index != nil {
			x.arithmUnknown(elem.Index)
			x.assigned(elem.Value)
			list = []string{Unknown}
			break
		}
		list = append(list, Texts(x.fields([]*syntax.Word{elem.Value}))...)
	}
	st.setList(a.Name.Value, list)
}

// declare follows export, declare, local, readonly and typeset.
func (in *Interpreter) declare(c *syntax.DeclClause, st *state, stdin Stream, place *Place, raw string) {
	x := in.expansion(st, place)
	reference := c.Variant.Value == "nameref"
	call := &Call{Place: *place, Argv: []Field{{Text: c.Variant.Value}}, Env: map[string]string{}, Stdin: stdin, in: in,
		state: st, raw: raw}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Name == nil {
			// An option, or a word such as "$name=value", which sets something that isn't known.
			for _, f := range x.fields([]*syntax.Word{a.Value}) {
				call.Argv = append(call.Argv, f)
				reference = reference || strings.HasPrefix(f.Text, "-") && strings.Contains(f.Text, "n")
				if name, value, ok := strings.Cut(f.Text, "="); ok && syntax.ValidName(name) {
					st.set(name, value, x.from)
					call.Env[name] = value
				}
			}
			continue
		}
		if len(in.calls) > 0 && c.Variant.Value != "export" && c.Variant.Value != "readonly" {
			st.locals = append(st.locals[:len(st.locals):len(st.locals)], a.Name.Value)
		}
		in.assignments([]*syntax.Assign{a}, st, x)
		if c.Variant.Value == "export" {
			st.own()
			st.exports = put(st.exports, a.Name.Value, true)
		}
		if reference {
			st.set(a.Name.Value, Unknown, nil) // another name of a variable that may change
		}
		if !a.Naked {
			call.Env[a.Name.Value] = st.Get(a.Name.Value).String()
		}
		call.Argv = append(call.Argv, Field{Text: a.Name.Value})
	}
	for _, f := range call.Argv[1:] {
		if strings.Contains(f.Text, "[") {
			in.evaluated(place, f.Text, st)
		}
	}
	in.visitor.Call(call)
}

// call follows one simple command with its arguments.
func (in *Interpreter) call(c *Call, st *state) Stream {
	c.state = st
	if len(c.Argv) == 0 || !in.step(&c.Place) {
		return Stream{}
	}
	word := c.Argv[0]
	if HasUnknown(word.Text) || word.Glob {
		in.visitor.Problem(&c.Place, Problem{Kind: Dynamic, Reason: "which program runs is only known when it runs",
			From: c.From})
		in.visitor.Call(c)
		return printed("a command")
	}
	program := len(c.Via) > 0 // what a command starts is no function
	if body, ok := st.funcs[word.Text]; ok && !program {
		inner := st.clone()
		inner.params = append([]string{"bash"}, Texts(c.Argv[1:])...)
		for name, value := range c.Env {
			inner.set(name, value, c.From)
		}
		return in.functionCall(word.Text, body, inner, st, c)
	}
	if len(c.Via) > maxStarts {
		in.problem(&c.Place, TooComplex, "commands that start commands, too deep to follow")
		return Stream{}
	}
	if out, ok := in.builtin(c, st); ok {
		return out
	}
	in.visitor.Call(c)
	if c.Output.Known || c.Output.Piped {
		return c.Output
	}
	return output(c)
}

// functionCall runs a function's body and takes over what it changed.
func (in *Interpreter) functionCall(name string, body *syntax.Stmt, inner, st *state, c *Call) Stream {
	inner.locals = nil
	out := in.function(name, body, inner, c.Stdin)
	outer := st.clone()
	*st = *inner
	st.own()
	for _, name := range slices.AppendSeq(inner.locals, maps.Keys(c.Env)) {
		if v, ok := outer.vars[name]; ok {
			st.vars = put(st.vars, name, v)
		} else {
			delete(st.vars, name)
		}
	}
	st.params, st.locals, st.dead = outer.params, outer.locals, false
	return out
}

// function follows a function's body unless it is being followed already. A function that calls itself in parallel
// is a fork bomb.
func (in *Interpreter) function(name string, body *syntax.Stmt, st *state, stdin Stream) Stream {
	for _, f := range in.calls {
		if f.name == name {
			if in.parallel > f.parallel {
				in.problem(in.place(body, st), ForkBomb, "the function "+name+" starts itself in parallel without end")
			}
			return printed(name)
		}
	}
	in.called = put(in.called, body, true)
	in.calls = append(in.calls, frame{name: name, parallel: in.parallel})
	defer func() { in.calls = in.calls[:len(in.calls)-1] }()
	return in.stmt(body, st, stdin)
}

// Name is the name that a program is known by: without its directory and Windows' endings, in lower case.
func Name(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".com", ".cmd", ".bat"} {
		if trimmed := strings.TrimSuffix(name, ending); trimmed != "" {
			name = trimmed
		}
	}
	return name
}
