package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// stmts follows statements one after the other, and returns what they print.
func (in *Interpreter) stmts(list []*syntax.Stmt, st *state, stdin Stream) Stream {
	out := text("")
	for _, stmt := range list {
		at := st
		if st.dead {
			at = st.clone() // it isn't reached, but it is looked at
		}
		out = out.then(in.stmt(stmt, at, stdin))
		if in.stopped {
			break
		}
	}
	return out
}

// stmt follows one statement.
func (in *Interpreter) stmt(s *syntax.Stmt, st *state, stdin Stream) Stream {
	place := in.place(s, st)
	if !in.step(place) {
		return Stream{}
	}
	if s.Background || s.Coprocess || s.Disown {
		in.parallel++
		defer func() { in.parallel-- }()
		in.child(st, place, func(child *state) Stream { return in.command(s, child, stdin, place) })
		return printed("a background job")
	}
	return in.command(s, st, stdin, place)
}

// command follows the command of a statement inside its redirections.
func (in *Interpreter) command(s *syntax.Stmt, st *state, stdin Stream, place *Place) Stream {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return in.simple(s, call, st, stdin, place)
	}
	r := in.redirects(s.Redirs, st, stdin, place)
	return r.output(st, in.compound(s, st, r.stdin, place))
}

// compound follows everything that isn't a simple command.
func (in *Interpreter) compound(s *syntax.Stmt, st *state, stdin Stream, place *Place) Stream {
	switch c := s.Cmd.(type) {
	case nil:
		if slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }) {
			stdin.Piped, stdin.From = true, []string{"a file"} // $(<file)
			return stdin
		}
		return text("")
	case *syntax.Block:
		return in.stmts(c.Stmts, st, stdin)
	case *syntax.Subshell:
		return in.child(st, place, func(child *state) Stream { return in.stmts(c.Stmts, child, stdin) })
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
		if body, ok := c.Body.Cmd.(*syntax.BinaryCmd); ok {
			// The parser takes what is joined to a function's body for a part of it.
			joined := *body
			declaration := *c
			declaration.Body = body.X
			joined.X = &syntax.Stmt{Cmd: &declaration, Position: s.Position}
			return in.binary(&joined, st, stdin)
		}
		if c.Name != nil {
			st.own()
			st.funcs = put(st.funcs, c.Name.Value, c.Body)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return in.stmt(c.Stmt, st, stdin)
		}
	case *syntax.CoprocClause:
		in.parallel++
		defer func() { in.parallel-- }()
		in.child(st, place, func(child *state) Stream { return in.stmt(c.Stmt, child, printed("a coprocess")) })
	case *syntax.DeclClause:
		in.declare(c, st, stdin, place, in.raw(s))
	case *syntax.LetClause:
		x := in.expansion(st, place)
		for _, expr := range c.Exprs {
			if word, ok := expr.(*syntax.Word); ok {
				in.evaluated(place, x.one(word), st)
			}
			x.arithm(expr)
		}
	case *syntax.ArithmCmd:
		in.expansion(st, place).arithm(c.X)
	case *syntax.TestClause:
		in.test(in.expansion(st, place), c.X)
	default:
		in.problem(place, Syntax, "this construct isn't supported")
	}
	return text("")
}

// child follows something that runs in a shell of its own: only the files that it writes remain.
func (in *Interpreter) child(st *state, place *Place, follow func(*state) Stream) Stream {
	child := st.clone()
	child.traps = nil
	out := follow(child)
	in.end(place, child)
	st.keepFiles(child)
	return out
}

// binary follows pipelines and lists.
func (in *Interpreter) binary(c *syntax.BinaryCmd, st *state, stdin Stream) Stream {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		in.parallel++
		defer func() { in.parallel-- }()
		place := in.place(c, st)
		out := in.child(st, place, func(child *state) Stream { return in.stmt(c.X, child, stdin) })
		out.Piped = true
		return in.child(st, place, func(child *state) Stream { return in.stmt(c.Y, child, out) })
	case syntax.AndStmt:
		// What stands before && is taken to succeed: a command that fails changes nothing that counts.
		out := in.stmt(c.X, st, stdin)
		dead := st.dead
		st.dead = false
		out = out.then(in.stmt(c.Y, st, stdin))
		if isTest(c.X) {
			st.dead = dead
		}
		return out
	default:
		before := st.clone()
		out := in.stmt(c.X, st, stdin)
		if st.dead {
			*before = *st.clone()
			before.dead = false
		}
		other := in.stmt(c.Y, before, stdin)
		st.join(before)
		if other.Known && other.Text == "" {
			return out
		}
		return Stream{Piped: true, From: from(out.From, other.From)}
	}
}

// isTest reports whether a statement only tests something, so that what follows && needn't run: an exit there ends
// nothing for sure.
func isTest(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.BinaryCmd:
		return isTest(c.Y)
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "cd", "mkdir", "touch", "export", "set", ":", "true", "echo", "printf":
				return false
			}
		}
	}
	return true
}

// test looks at the words of [[ … ]], which are neither split nor matched.
func (in *Interpreter) test(x *expansion, expr syntax.TestExpr) {
	switch e := expr.(type) {
	case *syntax.Word:
		x.one(e)
	case *syntax.UnaryTest:
		word, ok := e.X.(*syntax.Word)
		if !ok {
			in.test(x, e.X)
			return
		}
		value := x.one(word)
		if e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar {
			in.evaluated(x.place, value, x.state)
		}
		if e.Op >= syntax.TsExists && e.Op <= syntax.TsNoEmpty {
			in.visitor.Open(x.place, ForReading, Field{Text: value})
		}
	case *syntax.BinaryTest:
		files := e.Op == syntax.TsNewer || e.Op == syntax.TsOlder || e.Op == syntax.TsDevIno
		for _, side := range []syntax.TestExpr{e.X, e.Y} {
			if word, ok := side.(*syntax.Word); ok && files {
				in.visitor.Open(x.place, ForReading, Field{Text: x.one(word)})
				continue
			}
			if word, ok := side.(*syntax.Word); ok && e.Op >= syntax.TsEql && e.Op <= syntax.TsGtr {
				in.evaluated(x.place, x.one(word), x.state)
				continue
			}
			in.test(x, side)
		}
	case *syntax.ParenTest:
		in.test(x, e.X)
	}
}
