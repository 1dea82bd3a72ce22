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
	if c.Until || !stdin.Known || st.redefines("read") {
		return nil
	}
	call, ok := readingOf(c).Cmd.(*syntax.CallExpr)
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
	if lines = slices.Compact(lines); len(lines) > maxLines {
		return nil
	}
	return lines
}

// readingOf is the condition of a loop that reads, or the left side of one that goes on with a last line that doesn't end in one:
// read x || [ -n "$x" ].
func readingOf(c *syntax.WhileClause) *syntax.Stmt {
	if len(c.Cond) != 1 || !plainList(c.Cond[0]) {
		return &syntax.Stmt{}
	}
	either, ok := c.Cond[0].Cmd.(*syntax.BinaryCmd)
	if !ok || either.Op != syntax.OrStmt || !plainList(either.X) || !plainList(either.Y) {
		return c.Cond[0]
	}
	switch test := either.Y.Cmd.(type) {
	case *syntax.TestClause:
		if _, ok := test.X.(*syntax.UnaryTest); ok {
			return either.X
		}
	case *syntax.CallExpr:
		if len(test.Args) > 0 && test.Args[0].Lit() == "[" {
			return either.X
		}
	}
	return c.Cond[0]
}

// overLines follows a loop that reads a line each round: any of them, as its body may read some itself.
func (in *Interpreter) overLines(c *syntax.WhileClause, lines []string, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	ways, printed := in.repeated(place, st, func(s *state) (next []*state, out Stream) {
		for _, line := range lines {
			fresh := s.clone()
			fresh.drained = false
			read, _ := in.stmt(readingOf(c), fresh, Stream{Known: true, Piped: stdin.Piped, Text: line + "\n", From: stdin.From})
			for _, r := range read {
				after, _, prints := in.body(c.Do, r, stdin)
				next, out = append(next, after...), out.then(prints)
			}
		}
		return next, out
	})
	var all []*state
	rest := stdin.Text[strings.LastIndexByte(stdin.Text, '\n')+1:]
	for _, way := range append(ways, st) {
		all = append(all, way)
		end := way.clone()
		end.drained = false
		ended, _ := in.stmt(readingOf(c), end, Stream{Known: true, Piped: stdin.Piped, Text: rest, From: stdin.From}) // where no line is left
		all = append(all, ended...)
	}
	return join(all...), Stream{Piped: true, From: From("a loop")}.then(printed)
}
