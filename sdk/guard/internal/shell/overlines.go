package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxLines is how many lines a loop is followed over, each by itself.
const maxLines = 16

// linesOf are the lines that a loop goes over whose condition reads one of them each round: while read x. There are none if that isn't
// all that the condition does, or if they aren't known.
func linesOf(c *syntax.WhileClause, st *state, stdin Stream) []string {
	if c.Until || len(c.Cond) != 1 || !plainList(c.Cond[0]) || len(c.Cond[0].Redirs) > 0 || !stdin.Known || st.redefines("read") {
		return nil
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "read" {
		return nil
	}
	var args []string
	for _, word := range call.Args[1:] {
		arg := word.Lit()
		if arg == "" {
			return nil
		}
		args = append(args, arg)
	}
	r := readOptions(args, false)
	if r.other || r.exactly || r.count != "" || r.delim != "\n" || !r.raw && strings.Contains(stdin.Text, `\`) {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(stdin.Text, "\n"), "\n")
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) < 2 || len(lines) > maxLines {
		return nil
	}
	return lines
}

// overLines follows a loop that reads a line each round: any of them, as its body may read some itself.
func (in *Interpreter) overLines(c *syntax.WhileClause, lines []string, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	ways, printed := in.repeated(place, st, func(s *state) (next []*state, out Stream) {
		for _, line := range lines {
			read, _ := in.stmts(c.Cond, s.clone(), Stream{Known: true, Piped: stdin.Piped, Text: line + "\n", From: stdin.From})
			for _, r := range read {
				after, _, prints := in.body(c.Do, r, stdin)
				next, out = append(next, after...), out.then(prints)
			}
		}
		return next, out
	})
	all := []*state{}
	for _, way := range append(ways, st) {
		all = append(all, way)
		ended, _ := in.stmts(c.Cond, way.clone(), stdin) // at the end, where nothing is read
		all = append(all, ended...)
	}
	return join(all...), Stream{Piped: true, From: From("a loop")}.then(printed)
}
