package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ifClause follows both branches.
func (in *Interpreter) ifClause(c *syntax.IfClause, st *state, stdin Stream) ([]*state, Stream) {
	if len(c.Cond) == 0 { // else
		return in.stmts(c.Then, st, stdin)
	}
	known := st.doubt == "" && simpleCondition(c.Cond)
	states, _ := in.stmts(c.Cond, st, stdin)
	all := in.ways.list(2 * len(states))
	printed := Stream{Piped: true, From: From("a conditional")}
	for _, s := range states {
		right := s.clone()
		if known && s.doubt != "" { // one branch runs where the directory was entered, the other where it wasn't
			outside := s
			if c.Cond[0].Negated {
				outside = right
			}
			outside.dir = outside.doubt
			s.doubt, right.doubt = "", ""
		}
		in.branches++
		then, out := in.stmts(c.Then, right, stdin)
		in.branches--
		all, printed = append(all, then...), printed.then(out)
		if c.Else == nil {
			all = append(all, s)
			continue
		}
		other, out := in.ifClause(c.Else, s.clone(), stdin)
		all, printed = append(all, other...), printed.then(out)
	}
	return join(all...), printed
}

// while follows the body round by round: once as it begins, and then with what rounds change as not known, until they change nothing more.
func (in *Interpreter) while(c *syntax.WhileClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if endless(c) && forks(c.Do) {
		in.problem(place, ForkBomb, "an endless loop starts background jobs without waiting for them")
	}
	if lines := linesOf(c, st, stdin); lines != nil {
		return in.overLines(c, lines, st, stdin, place)
	}
	goesOn := func(s *state) bool {
		holds, known := hasArguments(c.Cond, s)
		return known && holds != c.Until
	}
	ends := func(s *state) bool {
		holds, known := hasArguments(c.Cond, s)
		return known && holds == c.Until || !c.Until && noOptions(c.Cond, s)
	}
	entered, left := goesOn(st), false
	states, _ := in.stmts(c.Cond, st, stdin)
	all := states
	if entered {
		all = nil // there is a first round
	}
	printed := Stream{Piped: true, From: From("a loop")}
	for _, s := range states {
		ways, out := in.repeated(place, s, func(s *state) ([]*state, Stream) {
			if ends(s) {
				return nil, Stream{}
			}
			after, gone, out := in.body(c.Do, s, stdin)
			left = left || len(gone) > 0
			var next []*state
			for _, a := range after {
				if !a.dead {
					tested, _ := in.stmts(c.Cond, a.clone(), stdin)
					next = append(next, tested...)
				}
			}
			return next, out
		})
		all, printed = append(all[:len(all):len(all)], ways...), printed.then(out)
	}
	if !left {
		all = slices.DeleteFunc(slices.Clone(all), goesOn) // there it doesn't end
	}
	if len(all) == 0 {
		all = states // it never ends
	}
	return join(all...), printed
}

// maxWiden is how many rounds of a loop are followed until they change nothing more.
const maxWiden = 16

// repeated follows what is done any number of times. It returns the ways on which the first two rounds end, the one that stands for all
// further rounds, and what the first one prints.
func (in *Interpreter) repeated(place *Place, st *state, once func(*state) ([]*state, Stream)) (ways []*state, printed Stream) {
	wide := st
	for round := range maxWiden {
		before := in.everywhere()
		after, out := once(wide.clone())
		if after = join(after...); round == 0 {
			printed = out
		}
		if len(after) == 0 || in.stopped {
			return ways, printed
		}
		if len(after) == 1 && after[0].equal(wide) && in.everywhere() == before {
			return append(ways, after...), printed // each further round does the same
		}
		if round == 0 && len(after) == 1 {
			ways = append(ways, after[0])
			wide = after[0] // the second round begins where the first one ended
			continue
		}
		next := blur(append([]*state{st, wide}, after...))
		if ways = append(ways, after...); next.settles(wide) {
			return append(ways, next), printed
		}
		wide = next
	}
	in.problem(place, TooComplex, "a loop takes too many rounds to follow")
	return ways, printed
}

// everywhere is how much of what holds on every way is known.
func (in *Interpreter) everywhere() [6]int {
	flags := 0
	for i, set := range []bool{in.lastpipe, in.cdable, in.keeps, in.merged, in.nocase, in.escapes} {
		if set {
			flags |= 1 << i
		}
	}
	links := 0
	for _, names := range in.links {
		links += len(names)
	}
	references := 0
	for _, names := range in.references {
		references += len(names)
	}
	return [...]int{len(in.links), links, len(in.references), references, len(in.volatile), flags}
}

// body follows the body of a loop once. The ways that have left it are among those that it ends with, and returned by themselves besides.
func (in *Interpreter) body(list []*syntax.Stmt, st *state, stdin Stream) (states, left []*state, out Stream) {
	in.breaks = append(in.breaks, leaving{})
	states, out = in.stmts(list, st, stdin)
	last := len(in.breaks) - 1
	left = in.breaks[last].ways
	in.breaks = in.breaks[:last]
	return append(states[:len(states):len(states)], left...), left, out
}

// leaves ends a way at a break or continue, which fails outside of loops. With a number it may be that of any loop around.
func (in *Interpreter) leaves(st *state, numbered bool) {
	if len(in.breaks) == 0 {
		return
	}
	for n := range in.breaks {
		if n == len(in.breaks)-1 || numbered {
			in.breaks[n].add(st)
		}
	}
	st.dead = true
}

// leaving are the ways that have left a loop, or returned from a function.
type leaving struct {
	ways  []*state
	times int
}

// add adds a way. Too many are blurred.
func (l *leaving) add(st *state) {
	l.times++
	if l.ways = append(l.ways, st.clone()); len(l.ways) > maxStates {
		l.ways = []*state{blur(l.ways)}
	}
}

// times is how often something has left what is being followed.
func times(from []leaving) (n int) {
	for _, l := range from {
		n += l.times
	}
	return n
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
		if keys := keysOf(loop, st); len(keys) > 0 && !c.Select {
			return in.overKeys(c, loop.Name.Value, keys, st, stdin, place)
		}
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
	states := st.alone()
	printed := transcript{unknown: true, from: From("a loop")}
	chosen, before := in.rounds(values), in.spent()
	leftOut, none := len(chosen) < len(values), true
	var left []*state // ways on which the loop ended before its last value
	defer func(gone int) { in.gone = gone }(in.gone)
	for round, value := range chosen {
		if number(value.Text) && in.dear(round, in.spent()-before) {
			leftOut = true
			continue
		}
		once := func(s *state) ([]*state, Stream) {
			if name != "" {
				s.set(name, value.Text)
			}
			states, gone, out := in.body(c.Do, s, stdin)
			in.gone += len(gone)
			if left = append(left, gone...); len(left) > maxStates {
				left = []*state{blur(left)}
			}
			return states, out
		}
		several := c.Select || HasUnknown(value.Text) || strings.ContainsAny(value.Text, "*?[") // there may be more of it, or none
		none = none && several
		next := in.ways.list(len(states))
		in.onEach(states, func(s *state) ([]*state, Stream) {
			s = s.clone()
			if !several || in.recursive() {
				return once(s)
			}
			unless := s.clone()
			if name != "" {
				s.set(name, value.Text) // so that a round which changes nothing else changes nothing
			}
			ways, out := in.repeated(place, s, once)
			if !none {
				ways = append(ways[:len(ways):len(ways)], unless) // there may be no round for it
			}
			return ways, out
		}, func(after []*state, out Stream) {
			next = append(next, after...)
			printed.add(out)
		})
		if states = join(next...); in.stopped {
			break
		}
	}
	if states = states[:len(states):len(states)]; none || len(states) == 0 {
		states = append(states, st)
	}
	if leftOut {
		ways, _ := in.repeated(place, st.clone(), func(s *state) ([]*state, Stream) {
			if name != "" {
				s.set(name, Unknown)
			}
			states, _, out := in.body(c.Do, s, stdin)
			return states, out
		})
		states = append(states, ways...)
	}
	return join(append(states, left...)...), printed.stream()
}

// spent is what was followed so far, in steps.
func (in *Interpreter) spent() int { return in.steps + in.work/(maxWork/maxSteps) }

// dear says whether the rounds of a loop have taken so many steps that of its further numbers one that isn't known stands for all.
func (in *Interpreter) dear(rounds, steps int) bool {
	switch {
	case rounds == 0:
		return false
	case rounds < 4:
		return steps > maxSteps/32 || in.spent() > maxSteps/4
	}
	return steps > maxSteps/64
}

// number says whether a value is made of digits alone.
func number(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// rounds chooses the values that a loop is followed for: all if they are few; else the first, those that aren't numbers, and one that
// stands for the rest.
func (in *Interpreter) rounds(values []Field) []Field {
	limit := maxRounds
	if in.steps > maxSteps/4 {
		limit = 4
	}
	if len(values) <= limit {
		return values
	}
	chosen := append(in.fields.list(4*limit), Field{Text: Unknown})
	chosen = append(chosen, values[:limit/2]...)
	for _, v := range values[limit/2:] {
		if !number(v.Text) && len(chosen) < limit*4 {
			chosen = append(chosen, v)
		}
	}
	return chosen
}
