package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ifClause follows both branches.
func (in *Interpreter) ifClause(c *syntax.IfClause, st *state, stdin Stream) ([]*state, Stream) {
	if len(c.Cond) == 0 { // else
		return in.stmts(c.Then, st, stdin)
	}
	states, _ := in.stmts(c.Cond, st, stdin)
	var all []*state
	for _, s := range states {
		then, _ := in.stmts(c.Then, s.clone(), stdin)
		all = append(all, then...)
		if c.Else == nil {
			all = append(all, s)
			continue
		}
		other, _ := in.ifClause(c.Else, s.clone(), stdin)
		all = append(all, other...)
	}
	return join(all...), Stream{Piped: true, From: []string{"a conditional"}}
}

// caseClause follows every branch.
func (in *Interpreter) caseClause(c *syntax.CaseClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	x := in.expansion(st, place)
	x.one(c.Word)
	all := []*state{st}
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			x.one(pattern)
		}
		states, _ := in.stmts(item.Stmts, st.clone(), stdin)
		all = append(all, states...)
	}
	return join(all...), Stream{Piped: true, From: []string{"a conditional"}}
}

// while follows the body for the first two rounds, and once for all further ones: there, what a round changes isn't known.
func (in *Interpreter) while(c *syntax.WhileClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if endless(c) && forks(c.Do) {
		in.problem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
	}
	states, _ := in.stmts(c.Cond, st, stdin)
	all := states
	for _, s := range states {
		before := []*state{s}
		for round := range 3 {
			after := in.round(c, before, stdin)
			if len(after) == 0 {
				break
			}
			all = append(all[:len(all):len(all)], after...)
			if before = after; round == 1 {
				before = []*state{blur(append([]*state{s}, after...))}
			}
		}
	}
	return join(all...), Stream{Piped: true, From: []string{"a loop"}}
}

// round follows a loop's body and then its condition. It returns the states that differ from those before: a round that
// changes nothing is as the next one.
func (in *Interpreter) round(c *syntax.WhileClause, before []*state, stdin Stream) []*state {
	var changed []*state
	for _, s := range before {
		after, _ := in.stmts(c.Do, s.clone(), stdin)
		for _, a := range after {
			if a.dead || a.equal(s) {
				continue
			}
			next, _ := in.stmts(c.Cond, a.clone(), stdin)
			changed = append(changed, next...)
		}
	}
	return join(changed...)
}

// endless says whether a loop's condition never ends it.
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

// forks says whether a loop's body starts background jobs and waits for nothing.
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
func (in *Interpreter) forClause(c *syntax.ForClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
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
		in.arithm(x, loop.Init)
		if loop.Cond == nil && forks(c.Do) {
			in.problem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
		}
		in.arithm(x, loop.Cond)
		syntax.Walk(c.Loop, func(n syntax.Node) bool {
			if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
				st.set(lit.Value, Unknown)
			}
			return true
		})
		values = []Field{{Text: Unknown}}
	}
	states := []*state{st}
	for _, value := range in.rounds(values) {
		var next []*state
		for _, s := range states {
			s = s.clone()
			if name != "" {
				s.set(name, value.Text)
			}
			after, _ := in.stmts(c.Do, s, stdin)
			next = append(next, after...)
		}
		if states = join(next...); in.stopped {
			break
		}
	}
	return join(append(states, st)...), Stream{Piped: true, From: []string{"a loop"}}
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
