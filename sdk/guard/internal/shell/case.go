package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// caseClause follows every branch that may be taken.
func (in *Interpreter) caseClause(c *syntax.CaseClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	x := in.expansion(st, place)
	word := x.one(c.Word)
	all, compared, through := in.ways.list(1+len(c.Items)), st.alone(), []*state(nil)
	printed := Stream{Piped: true, From: From("a conditional")}
	for _, item := range c.Items {
		may, must := taken(word, item)
		for _, pattern := range item.Patterns {
			x.one(pattern)
		}
		if may {
			through = append(through[:len(through):len(through)], compared...)
		}
		if must {
			compared = nil
		}
		var after []*state
		in.branches++
		in.onEach(join(through...), func(s *state) ([]*state, Stream) { return in.stmts(item.Stmts, s.clone(), stdin) }, func(states []*state, out Stream) {
			after, printed = append(after[:len(after):len(after)], states...), printed.then(out)
		})
		in.branches--
		switch through = nil; item.Op {
		case syntax.Fallthrough:
			through = after
		case syntax.Resume:
			compared = join(append(compared[:len(compared):len(compared)], after...)...)
		default:
			all = append(all, after...)
		}
		if len(compared) == 0 && len(through) == 0 {
			break
		}
	}
	return join(append(append(all, compared...), through...)...), printed
}

// taken says whether a branch may be taken for a word, and whether it is where none before it was.
func taken(word string, item *syntax.CaseItem) (may, must bool) {
	known := !strings.Contains(word, Unknown[:2]) // with which all marks begin
	for _, pattern := range item.Patterns {
		text := pattern.Lit()
		switch plain := text != "" && !strings.ContainsAny(text, "*?[]\\+@!(){}~$`'\""); {
		case text == "*", plain && known && text == word:
			return true, true
		case !plain || !known || strings.EqualFold(text, word): // which may be told to count
			may = true
		}
	}
	return may, false
}
