package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// interpretIf interprets each branch once, and joins their states.
func (in *Interpreter) interpretIf(c *syntax.IfClause, st *shellState, stdin StreamContent) StreamContent {
	if len(c.Cond) == 0 { // else
		return in.interpretStmts(c.Then, st, stdin)
	}
	in.interpretStmts(c.Cond, st, stdin)
	other := st.cloneState()
	in.interpretStmts(c.Then, st, stdin)
	if c.Else != nil {
		in.interpretIf(c.Else, other, stdin)
	}
	st.joinBranch(other)
	return unknownStream("a conditional")
}

// interpretCase interprets each branch once, and joins their states.
func (in *Interpreter) interpretCase(c *syntax.CaseClause, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	x := in.newWordExpander(st, place)
	x.expandWordUnsplit(c.Word)
	before := st.cloneState()
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			x.expandWordUnsplit(pattern)
		}
		branch := before.cloneState()
		in.interpretStmts(item.Stmts, branch, stdin)
		st.joinBranch(branch)
	}
	return unknownStream("a conditional")
}

// interpretWhile interprets the loop body twice: for the first round, and for all later rounds, in which changed values
// are unknown.
func (in *Interpreter) interpretWhile(c *syntax.WhileClause, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	if isEndlessLoop(c) && startsUnawaitedJobs(c.Do) {
		in.reportProblem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
	}
	in.interpretStmts(c.Cond, st, stdin)
	for range 2 {
		round := st.cloneState()
		in.interpretStmts(c.Do, round, stdin)
		round.isDead = false
		in.interpretStmts(c.Cond, round, stdin)
		st.joinBranch(round)
	}
	return unknownStream("a loop")
}

// isEndlessLoop reports whether the condition of a loop is constant and never ends it.
func isEndlessLoop(c *syntax.WhileClause) bool {
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

// startsUnawaitedJobs reports whether a loop body starts background jobs without waiting for them.
func startsUnawaitedJobs(body []*syntax.Stmt) bool {
	background, waits := false, false
	for _, stmt := range body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				if n.Background {
					background = true
					return false // a wait in a background job doesn't delay the loop
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

// interpretFor interprets the loop body once for each known value.
func (in *Interpreter) interpretFor(c *syntax.ForClause, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	x := in.newWordExpander(st, place)
	var name string
	var values []Argument
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		name = loop.Name.Value
		if loop.InPos.IsValid() {
			values = x.expandArguments(loop.Items)
		} else {
			for _, arg := range st.positionalArgs() {
				values = append(values, Argument{Text: arg})
			}
		}
	case *syntax.CStyleLoop:
		x.evalArithmetic(loop.Init)
		if loop.Cond == nil && startsUnawaitedJobs(c.Do) {
			in.reportProblem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
		}
		x.evalArithmetic(loop.Cond)
		x.forgetNamedVars(c.Loop)
		values = []Argument{{Text: Unknown}}
	}
	before := st.cloneState()
	for _, value := range in.chooseLoopValues(values) {
		if name != "" {
			st.setVar(name, value.Text, x.unknownFrom)
		}
		in.interpretStmts(c.Do, st, stdin)
		st.isDead = false
		if in.stopped {
			break
		}
	}
	if len(values) == 0 || HasUnknown(values[0].Text) || values[0].Glob {
		st.joinBranch(before) // there may have been nothing to do
	}
	return unknownStream("a loop")
}

// chooseLoopValues returns the loop values to interpret. If there are too many, it returns the first ones, those that
// look like paths or options, and Unknown for the rest.
func (in *Interpreter) chooseLoopValues(values []Argument) []Argument {
	limit := maxLoopValues
	if in.steps > maxSteps/4 {
		limit = 4
	}
	if len(values) <= limit {
		return values
	}
	chosen := append([]Argument{{Text: Unknown}}, values[:limit/2]...)
	for _, v := range values[limit/2:] {
		if strings.ContainsAny(v.Text, "/.-~ ") && len(chosen) < limit*4 {
			chosen = append(chosen, v)
		}
	}
	return chosen
}
