package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ifClause follows each branch once, and joins what is known after them.
func (in *Interpreter) ifClause(c *syntax.IfClause, st *state, stdin Stream) Stream {
	if len(c.Cond) == 0 { // else
		return in.stmts(c.Then, st, stdin)
	}
	in.stmts(c.Cond, st, stdin)
	other := st.clone()
	in.stmts(c.Then, st, stdin)
	if c.Else != nil {
		in.ifClause(c.Else, other, stdin)
	}
	st.join(other)
	return printed("a conditional")
}

// caseClause follows each branch once.
func (in *Interpreter) caseClause(c *syntax.CaseClause, st *state, stdin Stream, place *Place) Stream {
	x := in.expansion(st, place)
	x.one(c.Word)
	before := st.clone()
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			x.one(pattern)
		}
		branch := before.clone()
		in.stmts(item.Stmts, branch, stdin)
		st.join(branch)
	}
	return printed("a conditional")
}

// while follows the body twice: the first round, and one that stands for all others, where what a round changes isn't
// known.
func (in *Interpreter) while(c *syntax.WhileClause, st *state, stdin Stream, place *Place) Stream {
	if endless(c) && forks(c.Do) {
		in.problem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
	}
	in.stmts(c.Cond, st, stdin)
	for range 2 {
		round := st.clone()
		in.stmts(c.Do, round, stdin)
		round.dead = false
		in.stmts(c.Cond, round, stdin)
		st.join(round)
	}
	return printed("a loop")
}

// endless reports whether a loop's condition never ends it.
func endless(c *syntax.WhileClause) bool {
	if len(c.Cond) != 1 {
		return false
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch call.Args[0].Lit() {
	case ":", "true", "[", "test":
		return !c.Until && (len(call.Args) == 1 || call.Args[0].Lit() == "[" && len(call.Args) == 3)
	case "false":
		return c.Until
	}
	return false
}

// forks reports whether a loop's body starts background jobs and waits for nothing.
func forks(body []*syntax.Stmt) bool {
	background, waits := false, false
	for _, stmt := range body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				if n.Background {
					background = true
					return false // what waits in there doesn't hold up the loop
				}
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					switch n.Args[0].Lit() {
					case "wait", "sleep", "read", "inotifywait", "break", "exit":
						waits = true
					}
				}
			}
			return true
		})
	}
	return background && !waits
}

// forClause follows the body once for every value that is known.
func (in *Interpreter) forClause(c *syntax.ForClause, st *state, stdin Stream, place *Place) Stream {
	x := in.expansion(st, place)
	var name string
	var values []Field
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		name = loop.Name.Value
		if loop.InPos.IsValid() {
			values = x.fields(loop.Items)
		} else {
			for _, arg := range st.args() {
				values = append(values, Field{Text: arg})
			}
		}
	case *syntax.CStyleLoop:
		x.arithm(loop.Init)
		if loop.Cond == nil && forks(c.Do) {
			in.problem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
		}
		x.arithm(loop.Cond)
		x.forget(c.Loop)
		values = []Field{{Text: Unknown}}
	}
	before := st.clone()
	for _, value := range in.rounds(values) {
		if name != "" {
			st.set(name, value.Text, x.from)
		}
		in.stmts(c.Do, st, stdin)
		st.dead = false
		if in.stopped {
			break
		}
	}
	if len(values) == 0 || HasUnknown(values[0].Text) || values[0].Glob {
		st.join(before) // there may have been nothing to do
	}
	return printed("a loop")
}

// rounds chooses the values that a loop is followed for: all if they are few; else the first, those that look like
// paths or options, and one that stands for the rest.
func (in *Interpreter) rounds(values []Field) []Field {
	limit := maxRounds
	if in.steps > maxSteps/4 {
		limit = 4
	}
	if len(values) <= limit {
		return values
	}
	chosen := append([]Field{{Text: Unknown}}, values[:limit/2]...)
	for _, v := range values[limit/2:] {
		if strings.ContainsAny(v.Text, "/.-~ ") && len(chosen) < limit*4 {
			chosen = append(chosen, v)
		}
	}
	return chosen
}
