package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// stmts follows statements one after the other, on every way.
func (in *Interpreter) stmts(list []*syntax.Stmt, st *state, stdin Stream) ([]*state, Stream) {
	if stdin.Known {
		in.fed++
		defer func() { in.fed-- }()
	}
	if len(list) == 1 {
		states, out := in.stmt(list[0], st, stdin)
		in.after(states)
		return join(states...), text("").then(out)
	}
	states := st.alone()
	var out transcript
	for _, stmt := range list {
		if len(states) == 1 {
			ended := states[0].dead
			after, printed := in.stmt(stmt, states[0], stdin)
			in.after(after)
			out.add(printed)
			out.unknown = out.unknown || ended // this isn't printed, then
			if states = join(after...); in.stopped {
				break
			}
			continue
		}
		var next []*state
		var printed Stream
		in.onEach(states, func(st *state) ([]*state, Stream) { return in.stmt(stmt, st, stdin) }, func(after []*state, o Stream) {
			in.after(after)
			if next == nil {
				printed = o
			} else if o.Known != printed.Known || o.Text != printed.Text {
				printed = printed.or(o)
			}
			next = append(next, after...)
		})
		out.add(printed)
		if states = join(next...); in.stopped {
			break
		}
	}
	return states, out.stream()
}

// stmt follows one statement.
func (in *Interpreter) stmt(s *syntax.Stmt, st *state, stdin Stream) ([]*state, Stream) {
	place := in.place(s, st)
	defer in.places.put(place)
	if !in.step(place) {
		return st.alone(), Stream{}
	}
	if s.Background || s.Coprocess || s.Disown {
		in.parallel++
		defer func() { in.parallel-- }()
		states, out := in.job(s, st.clone(), stdin, place)
		return st.keepFiles(states).alone(), Stream{Piped: true, Text: out.Text, From: From("a background job")}
	}
	return in.command(s, st, stdin, place)
}

// command follows the command of a statement inside its redirections, and what comes of it where one of these fails: nothing.
func (in *Interpreter) command(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if len(s.Redirs) == 0 || st.strict || setsByReading(s.Cmd) || !in.mayNotOpen(s.Redirs, st, place) {
		return in.redirected(s, st, stdin, place)
	}
	before := st.clone()
	states, out := in.redirected(s, st, stdin, place)
	return join(append(states[:len(states):len(states)], before)...), out
}

// setsByReading says whether a command sets variables to what it reads: they aren't known, whether that is there or not.
func setsByReading(cmd syntax.Command) bool {
	simple, ok := cmd.(*syntax.CallExpr)
	if !ok || len(simple.Args) == 0 {
		return false
	}
	word := simple.Args[0].Lit()
	return word == "read" || word == "mapfile" || word == "readarray"
}

// redirected follows the command of a statement inside its redirections.
func (in *Interpreter) redirected(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		if several := chosen(s, call, st); several != nil {
			return in.stmt(several, st, stdin)
		}
		return in.simple(s, call, st, stdin, place)
	}
	if st.input != nil {
		stdin = *st.input
	}
	if len(s.Redirs) == 0 {
		return in.compound(s, st, stdin, place)
	}
	r := redirections{stdin: stdin}
	in.redirects(&r, s.Redirs, st, place)
	input, printer, drained := st.input, st.printer, st.drained
	before := r.enter(st)
	r.fills(st)
	if r.fed {
		st.input, st.drained = nil, false
	}
	if r.moved || r.back {
		st.printer = nil
	}
	states, out := in.compound(s, st, r.stdin, place)
	for _, after := range states {
		if after.input, after.printer = input, printer; r.fed {
			after.drained = drained
		}
	}
	leave(states, before)
	return states, r.output(states, out)
}

// compound follows everything that isn't a simple command.
func (in *Interpreter) compound(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	one := st.alone()
	switch c := s.Cmd.(type) {
	case nil:
		if slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }) {
			return one, Stream{Piped: true, File: stdin.File, Known: stdin.Known, Text: stdin.Text, From: From("a file")} // $(<file)
		}
		return one, text("")
	case *syntax.Block:
		return in.stmts(c.Stmts, st, stdin)
	case *syntax.Subshell:
		states, out := in.stmts(c.Stmts, st.clone(), stdin)
		st.keepFiles(states).drain()
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
			return in.define(c.Name.Value, c.Body, st)
		}
		return one, text("")
	case *syntax.TimeClause:
		timed := c.Stmt
		for timed != nil && plainList(timed) {
			inner, ok := timed.Cmd.(*syntax.TimeClause)
			if !ok {
				break
			}
			timed = inner.Stmt
		}
		if timed == nil {
			return one, text("")
		}
		return in.stmt(timed, st, stdin)
	case *syntax.CoprocClause:
		in.parallel++
		defer func() { in.parallel-- }()
		stdin := Stream{Piped: true, From: From("a coprocess")}
		in.job(c.Stmt, st.clone(), stdin, place)
		if simple := unnamed(c); simple != nil {
			in.job(simple, st.clone(), stdin, place)
		}
		return one, text("")
	case *syntax.DeclClause:
		return one, in.declare(c, st, stdin, place, s)
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

// unnamed is the simple command whose first word the parser has taken for the name of a coprocess, which only compound commands have.
func unnamed(c *syntax.CoprocClause) *syntax.Stmt {
	if c.Name == nil {
		return nil
	}
	first := c.Stmt
	for list, ok := first.Cmd.(*syntax.BinaryCmd); ok; list, ok = first.Cmd.(*syntax.BinaryCmd) {
		first = list.X
	}
	call, ok := first.Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	whole := *first
	whole.Cmd = &syntax.CallExpr{Args: append([]*syntax.Word{c.Name}, call.Args...)}
	return &whole
}

// binary follows pipelines and lists.
func (in *Interpreter) binary(c *syntax.BinaryCmd, st *state, stdin Stream) ([]*state, Stream) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		if definition, ok := c.Y.Cmd.(*syntax.FuncDecl); ok {
			if whole := regrouped(c, definition); whole != nil {
				return in.stmt(whole, st, stdin)
			}
		}
		in.parallel++
		defer func() { in.parallel-- }()
		from := st.clone()
		from.printer = nil
		start := from.clone()
		left, out := in.stmt(c.X, from, stdin)
		st.keepFiles(left)
		out.Piped = true
		to := st.clone()
		to.input, to.drained = nil, false
		st.drain()
		files := st.files
		right, out := in.stmt(c.Y, to, out)
		st.keepFiles(right)
		if st.files != files && !in.beside { // which the left side may read
			start.files = st.files
			in.left(c.X, start, stdin)
		}
		if in.lastpipe {
			return join(append(right[:len(right):len(right)], st)...), out
		}
		return st.alone(), out
	case syntax.AndStmt:
		_, all, out := in.and(c, st, stdin)
		return join(all...), out
	default: // OrStmt
		before := st.clone()
		succeeded, left, out := in.tried(c, st, stdin)
		all := succeeded
		tried := left
		if (len(left) != 1 || !left[0].equal(before)) && !readsText(c.X, before) {
			tried = append([]*state{before}, left...)
		}
		tried = slices.DeleteFunc(slices.Clone(tried), func(s *state) bool { return s.dead })
		in.branches++
		in.onEach(tried, func(s *state) ([]*state, Stream) { return in.stmt(c.Y, s.clone(), stdin) }, func(right []*state, o Stream) {
			all = append(all[:len(all):len(all)], right...)
			if program, ok := out.orProgram(o); ok {
				out = program
			} else if !o.Known || o.Text != "" {
				out = Stream{Piped: true, Text: out.then(o).Text, From: out.From.And(o.From)}
			}
		})
		in.branches--
		if !slices.ContainsFunc(all[len(succeeded):], func(s *state) bool { return !s.dead }) {
			for _, s := range succeeded {
				s.doubt = "" // what follows runs only if the left side succeeded
			}
		}
		return join(all...), out
	}
}

// tried follows the left side of ||. It returns the ways on which it may have succeeded, and all ways. Of statements joined by &&, all
// have run then.
func (in *Interpreter) tried(c *syntax.BinaryCmd, st *state, stdin Stream) (succeeded, all []*state, out Stream) {
	if inner, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && inner.Op == syntax.AndStmt && plainList(c.X) && in.stepAt(c.X, st) {
		return in.and(inner, st, stdin)
	}
	all, out = in.stmt(c.X, st, stdin)
	return all, all, out
}

// and follows a list of statements joined by &&: each only where all before it succeeded. It returns the ways on which all
// of them ran, and all ways.
func (in *Interpreter) and(c *syntax.BinaryCmd, st *state, stdin Stream) (through, all []*state, out Stream) {
	var left []*state
	succeeds := st.doubt == "" && plainList(c.X) // what follows runs only where the directories were entered
	if inner, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && inner.Op == syntax.AndStmt && plainList(c.X) && in.stepAt(c.X, st) {
		left, all, out = in.and(inner, st, stdin)
	} else {
		_, simple := c.X.Cmd.(*syntax.CallExpr)
		succeeds = succeeds && simple
		left, out = in.stmt(c.X, st, stdin)
		all = left
	}
	for _, s := range left {
		if succeeds && s.doubt != "" {
			all = append(all[:len(all):len(all)], s.clone()) // where it failed, or succeeded
			s.doubt = ""                                     // what follows runs where it succeeded
		}
	}
	// What follows && need not run, but then the left side failed and can have changed nothing that matters.
	in.branches++
	in.onEach(left, func(s *state) ([]*state, Stream) { return in.stmt(c.Y, s.clone(), stdin) }, func(right []*state, o Stream) {
		if out = out.then(o); through == nil {
			through = right
		} else {
			through = append(through[:len(through):len(through)], right...)
		}
	})
	in.branches--
	through = join(through...)
	if in.makesAndEnters(c, st) {
		return through, through, out
	}
	ways := append(append(in.ways.list(len(through)+len(all)), through...), all...)
	return through, join(ways...), out
}

// plainList says whether a statement is a list as it stands: neither negated, nor redirected, nor in the background.
func plainList(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == 0
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
			switch value := x.one(word); {
			case fileTest(e.Op):
				in.visitor.Open(x.place, ForReading, Field{Text: value})
			case e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar:
				in.named(x.place, value)
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
		if e.Op == syntax.TsReMatch {
			in.rematch(x, e)
			return
		}
		if computes(e.Op) {
			for _, side := range []syntax.TestExpr{e.X, e.Y} {
				if word, ok := side.(*syntax.Word); ok {
					in.evaluated(x.place, x.state, x.one(word), 0)
				}
			}
			return
		}
		in.test(x, e.X)
		in.test(x, e.Y)
	case *syntax.ParenTest:
		in.test(x, e.X)
	}
}

// computes says whether a test compares numbers.
func computes(op syntax.BinTestOperator) bool {
	return op >= syntax.TsEql && op <= syntax.TsGtr
}

// fileTest says whether a test looks at a file.
func fileTest(op syntax.UnTestOperator) bool {
	return op >= syntax.TsExists && op <= syntax.TsNoEmpty
}
