package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// interpretStmts interprets statements in sequence and returns their joined output.
func (in *Interpreter) interpretStmts(list []*syntax.Stmt, st *shellState, stdin StreamContent) StreamContent {
	out := knownStream("")
	for _, stmt := range list {
		at := st
		if st.isDead {
			at = st.cloneState() // it isn't reached, but it is looked at
		}
		out = out.appendStream(in.interpretStmt(stmt, at, stdin))
		if in.stopped {
			break
		}
	}
	return out
}

func (in *Interpreter) interpretStmt(s *syntax.Stmt, st *shellState, stdin StreamContent) StreamContent {
	place := in.nodeLocation(s, st)
	if !in.countStep(place) {
		return StreamContent{}
	}
	if s.Background || s.Coprocess || s.Disown {
		in.parallelDepth++
		defer func() { in.parallelDepth-- }()
		in.interpretSubshell(st, place, func(child *shellState) StreamContent { return in.interpretRedirectedStmt(s, child, stdin, place) })
		return unknownStream("a background job")
	}
	return in.interpretRedirectedStmt(s, st, stdin, place)
}

// interpretRedirectedStmt interprets a statement's command with its redirections.
func (in *Interpreter) interpretRedirectedStmt(s *syntax.Stmt, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return in.interpretSimpleCommand(s, call, st, stdin, place)
	}
	r := in.applyRedirects(s.Redirs, st, stdin, place)
	return r.routeOutput(st, in.interpretCompoundCommand(s, st, r.stdin, place))
}

// interpretCompoundCommand interprets a command that is not a simple command.
func (in *Interpreter) interpretCompoundCommand(s *syntax.Stmt, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	switch c := s.Cmd.(type) {
	case nil:
		if slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }) {
			stdin.Piped, stdin.From = true, []string{"a file"} // $(<file)
			return stdin
		}
		return knownStream("")
	case *syntax.Block:
		return in.interpretStmts(c.Stmts, st, stdin)
	case *syntax.Subshell:
		return in.interpretSubshell(st, place, func(child *shellState) StreamContent { return in.interpretStmts(c.Stmts, child, stdin) })
	case *syntax.BinaryCmd:
		return in.interpretBinaryCmd(c, st, stdin)
	case *syntax.IfClause:
		return in.interpretIf(c, st, stdin)
	case *syntax.WhileClause:
		return in.interpretWhile(c, st, stdin, place)
	case *syntax.ForClause:
		return in.interpretFor(c, st, stdin, place)
	case *syntax.CaseClause:
		return in.interpretCase(c, st, stdin, place)
	case *syntax.FuncDecl:
		if body, ok := c.Body.Cmd.(*syntax.BinaryCmd); ok {
			// The parser takes what is joined to a function's body for a part of it.
			joined := *body
			declaration := *c
			declaration.Body = body.X
			joined.X = &syntax.Stmt{Cmd: &declaration, Position: s.Position}
			return in.interpretBinaryCmd(&joined, st, stdin)
		}
		if c.Name != nil {
			st.unshareMaps()
			st.funcs = setMapEntry(st.funcs, c.Name.Value, c.Body)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return in.interpretStmt(c.Stmt, st, stdin)
		}
	case *syntax.CoprocClause:
		in.parallelDepth++
		defer func() { in.parallelDepth-- }()
		in.interpretSubshell(st, place, func(child *shellState) StreamContent {
			return in.interpretStmt(c.Stmt, child, unknownStream("a coprocess"))
		})
	case *syntax.DeclClause:
		in.interpretDeclaration(c, st, stdin, place, in.nodeText(s))
	case *syntax.LetClause:
		x := in.newWordExpander(st, place)
		for _, expr := range c.Exprs {
			if word, ok := expr.(*syntax.Word); ok {
				in.interpretNestedSubstitutions(place, x.expandWordUnsplit(word), st)
			}
			x.evalArithmetic(expr)
		}
	case *syntax.ArithmCmd:
		in.newWordExpander(st, place).evalArithmetic(c.X)
	case *syntax.TestClause:
		in.interpretTestExpr(in.newWordExpander(st, place), c.X)
	default:
		in.reportProblem(place, Syntax, "this construct isn't supported")
	}
	return knownStream("")
}

// interpretSubshell calls interpret with a copy of the state. Afterwards it keeps only files that the subshell wrote.
func (in *Interpreter) interpretSubshell(st *shellState, place *CommandLocation, interpret func(*shellState) StreamContent) StreamContent {
	child := st.cloneState()
	child.traps = nil
	out := interpret(child)
	in.interpretTraps(place, child)
	st.mergeWrittenFiles(child)
	return out
}

func (in *Interpreter) interpretBinaryCmd(c *syntax.BinaryCmd, st *shellState, stdin StreamContent) StreamContent {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		in.parallelDepth++
		defer func() { in.parallelDepth-- }()
		place := in.nodeLocation(c, st)
		out := in.interpretSubshell(st, place, func(child *shellState) StreamContent { return in.interpretStmt(c.X, child, stdin) })
		out.Piped = true
		return in.interpretSubshell(st, place, func(child *shellState) StreamContent { return in.interpretStmt(c.Y, child, out) })
	case syntax.AndStmt:
		// What stands before && is taken to succeed: a command that fails changes nothing that counts.
		out := in.interpretStmt(c.X, st, stdin)
		dead := st.isDead
		st.isDead = false
		out = out.appendStream(in.interpretStmt(c.Y, st, stdin))
		if mayFailAsCondition(c.X) {
			st.isDead = dead
		}
		return out
	default:
		before := st.cloneState()
		out := in.interpretStmt(c.X, st, stdin)
		if st.isDead {
			*before = *st.cloneState()
			before.isDead = false
		}
		alternative := in.interpretStmt(c.Y, before, stdin)
		st.joinBranch(before)
		if alternative.Known && alternative.Text == "" {
			return out
		}
		return StreamContent{Piped: true, From: mergeCommandNames(out.From, alternative.From)}
	}
}

// mayFailAsCondition reports whether a statement may fail, so that a command after && may not run.
func mayFailAsCondition(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.BinaryCmd:
		return mayFailAsCondition(c.Y)
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

// interpretTestExpr expands the words of [[ … ]], without splitting and pattern matching.
func (in *Interpreter) interpretTestExpr(x *wordExpander, expr syntax.TestExpr) {
	switch e := expr.(type) {
	case *syntax.Word:
		x.expandWordUnsplit(e)
	case *syntax.UnaryTest:
		word, ok := e.X.(*syntax.Word)
		if !ok {
			in.interpretTestExpr(x, e.X)
			return
		}
		value := x.expandWordUnsplit(word)
		if e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar {
			in.interpretNestedSubstitutions(x.place, value, x.state)
		}
		if e.Op >= syntax.TsExists && e.Op <= syntax.TsNoEmpty {
			in.visitor.VisitPath(x.place, ForReading, Argument{Text: value})
		}
	case *syntax.BinaryTest:
		files := e.Op == syntax.TsNewer || e.Op == syntax.TsOlder || e.Op == syntax.TsDevIno
		for _, side := range []syntax.TestExpr{e.X, e.Y} {
			if word, ok := side.(*syntax.Word); ok && files {
				in.visitor.VisitPath(x.place, ForReading, Argument{Text: x.expandWordUnsplit(word)})
				continue
			}
			if word, ok := side.(*syntax.Word); ok && e.Op >= syntax.TsEql && e.Op <= syntax.TsGtr {
				in.interpretNestedSubstitutions(x.place, x.expandWordUnsplit(word), x.state)
				continue
			}
			in.interpretTestExpr(x, side)
		}
	case *syntax.ParenTest:
		in.interpretTestExpr(x, e.X)
	}
}
