package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// stmts follows statements one after the other, on every way.
func (in *Interpreter) stmts(list []*syntax.Stmt, st *state, stdin Stream) ([]*state, Stream) {
	states, out := []*state{st}, text("")
	for _, stmt := range list {
		var next []*state
		var printed Stream
		for i, st := range states {
			after, o := in.stmt(stmt, st, stdin)
			next = append(next, after...)
			if i == 0 {
				printed = o
			} else if o.Known != printed.Known || o.Text != printed.Text {
				printed = Stream{Piped: true, From: from(printed.From, o.From)}
			}
		}
		states, out = join(next...), out.then(printed)
		if in.stopped {
			break
		}
	}
	return states, out
}

// stmt follows one statement.
func (in *Interpreter) stmt(s *syntax.Stmt, st *state, stdin Stream) ([]*state, Stream) {
	place := in.place(s, st)
	if !in.step(place) {
		return []*state{st}, Stream{}
	}
	if s.Background || s.Coprocess || s.Disown {
		in.parallel++
		defer func() { in.parallel-- }()
		states, _ := in.command(s, st.clone(), stdin, place)
		return []*state{st.keepFiles(states)}, Stream{Piped: true, From: []string{"a background job"}}
	}
	return in.command(s, st, stdin, place)
}

// command follows the command of a statement inside its redirections.
func (in *Interpreter) command(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return in.simple(s, call, st, stdin, place)
	}
	r := in.redirects(s.Redirs, st, stdin, place)
	states, out := in.compound(s, st, r.stdin, place)
	return states, r.output(states, out)
}

// compound follows everything that isn't a simple command.
func (in *Interpreter) compound(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	one := []*state{st}
	switch c := s.Cmd.(type) {
	case nil:
		if slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }) {
			return one, Stream{Piped: true, File: stdin.File, Known: stdin.Known, Text: stdin.Text, From: []string{"a file"}} // $(<file)
		}
		return one, text("")
	case *syntax.Block:
		return in.stmts(c.Stmts, st, stdin)
	case *syntax.Subshell:
		states, out := in.stmts(c.Stmts, st.clone(), stdin)
		st.keepFiles(states)
		return one, out
	case *syntax.BinaryCmd:
		return in.binary(c, st, stdin)
	case *syntax.IfClause:
		return in.ifClause(c, st, stdin)
	case *syntax.WhileClause:
		return in.while(c, st, stdin, place)
	case *syntax.ForClause:
		return in.forClause(c, st, stdin, place)
	case *syntax.CaseClause:
		return in.caseClause(c, st, stdin, place)
	case *syntax.FuncDecl:
		if c.Name != nil {
			st.own()
			st.funcs = put(st.funcs, c.Name.Value, c.Body)
		}
		return one, text("")
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return one, text("")
		}
		return in.stmt(c.Stmt, st, stdin)
	case *syntax.CoprocClause:
		in.parallel++
		defer func() { in.parallel-- }()
		in.stmt(c.Stmt, st.clone(), Stream{Piped: true, From: []string{"a coprocess"}})
		return one, text("")
	case *syntax.DeclClause:
		in.declare(c, st, stdin, place, in.raw(s))
		return one, text("")
	case *syntax.LetClause:
		x := in.expansion(st, place)
		for _, expr := range c.Exprs {
			in.arithm(x, expr)
		}
		return one, text("")
	case *syntax.ArithmCmd:
		in.arithm(in.expansion(st, place), c.X)
		return one, text("")
	case *syntax.TestClause:
		in.test(in.expansion(st, place), c.X)
		return one, text("")
	}
	in.problem(place, Syntax, "this construct isn't supported")
	return one, Stream{}
}

// binary follows pipelines and lists.
func (in *Interpreter) binary(c *syntax.BinaryCmd, st *state, stdin Stream) ([]*state, Stream) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		in.parallel++
		defer func() { in.parallel-- }()
		left, out := in.stmt(c.X, st.clone(), stdin)
		st.keepFiles(left)
		out.Piped = true
		right, out := in.stmt(c.Y, st.clone(), out)
		return []*state{st.keepFiles(right)}, out
	case syntax.AndStmt:
		left, out := in.stmt(c.X, st, stdin)
		var all []*state
		for _, s := range left {
			// What follows && need not run, but then the left side failed and can have changed nothing that matters.
			right, o := in.stmt(c.Y, s.clone(), stdin)
			all, out = append(all, right...), out.then(o)
		}
		return join(append(all, left...)...), out
	default: // OrStmt
		before := st.clone()
		left, out := in.stmt(c.X, st, stdin)
		all := left
		tried := left
		if len(left) != 1 || !left[0].equal(before) {
			tried = append([]*state{before}, left...)
		}
		for _, s := range tried {
			if s.dead {
				continue
			}
			right, o := in.stmt(c.Y, s.clone(), stdin)
			all = append(all[:len(all):len(all)], right...)
			if !o.Known || o.Text != "" {
				out = Stream{Piped: true, From: from(out.From, o.From)}
			}
		}
		return join(all...), out
	}
}

// arithm evaluates an arithmetic expression for its assignments.
func (in *Interpreter) arithm(x *expansion, expr syntax.ArithmExpr) {
	if expr == nil {
		return
	}
	if x.arithmUnknown(expr) || x.evaluate(expr) != nil {
		// Whatever it assigns isn't known from here on.
		syntax.Walk(expr, func(n syntax.Node) bool {
			if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
				x.state.set(lit.Value, Unknown)
			}
			return true
		})
	}
}

// test looks at the words of [[ … ]], which are neither split nor matched.
func (in *Interpreter) test(x *expansion, expr syntax.TestExpr) {
	switch e := expr.(type) {
	case *syntax.Word:
		x.one(e)
	case *syntax.UnaryTest:
		if word, ok := e.X.(*syntax.Word); ok {
			if value := x.one(word); fileTest(e.Op) {
				in.visitor.Open(x.place, ForReading, Field{Text: value})
			}
			return
		}
		in.test(x, e.X)
	case *syntax.BinaryTest:
		if left, ok := e.X.(*syntax.Word); ok && (e.Op == syntax.TsNewer || e.Op == syntax.TsOlder || e.Op == syntax.TsDevIno) {
			in.visitor.Open(x.place, ForReading, Field{Text: x.one(left)})
			if right, ok := e.Y.(*syntax.Word); ok {
				in.visitor.Open(x.place, ForReading, Field{Text: x.one(right)})
			}
			return
		}
		in.test(x, e.X)
		in.test(x, e.Y)
	case *syntax.ParenTest:
		in.test(x, e.X)
	}
}

// fileTest says whether a test looks at a file.
func fileTest(op syntax.UnTestOperator) bool {
	return op >= syntax.TsExists && op <= syntax.TsNoEmpty
}
