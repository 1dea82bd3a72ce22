package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// caseClause follows every branch that may be taken.
func (in *Interpreter) caseClause(c *syntax.CaseClause, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	x := in.expansion(st, place)
	word := x.one(c.Word)
	all, covered, through := []*state{st}, false, false
	printed := Stream{Piped: true, From: From("a conditional")}
	for _, item := range c.Items {
		may, must := taken(word, item)
		for _, pattern := range item.Patterns {
			x.one(pattern)
		}
		if must && !covered {
			all, covered = all[1:], true // one of the branches up to this one is taken
		}
		if may || through {
			in.branches++
			states, out := in.stmts(item.Stmts, st.clone(), stdin)
			in.branches--
			all, printed = append(all, states...), printed.then(out)
		}
		if must && item.Op == syntax.Break {
			break
		}
		through = item.Op == syntax.Fallthrough
	}
	return join(all...), printed
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
