package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// How long the two sides of =~ may be to be followed.
const (
	maxExpression = 256
	maxMatched    = 1024
)

// rematch follows text =~ expression, which sets BASH_REMATCH.
func (in *Interpreter) rematch(x *expansion, e *syntax.BinaryTest) {
	x.state.set("BASH_REMATCH", Unknown)
	left, ok := e.X.(*syntax.Word)
	right, also := e.Y.(*syntax.Word)
	if !ok || !also {
		in.test(x, e.X)
		in.test(x, e.Y)
		return
	}
	text := x.one(left)
	var expression strings.Builder
	for _, part := range right.Parts {
		value := x.one(&syntax.Word{Parts: []syntax.WordPart{part}})
		switch p := part.(type) {
		case *syntax.Lit:
			value = p.Value // its backslashes are the expression's
		case *syntax.SglQuoted, *syntax.DblQuoted:
			value = regexp.QuoteMeta(value)
		}
		expression.WriteString(value)
	}
	of := expression.String()
	if HasUnknown(text+of) || len(text) > maxMatched || len(of) > maxExpression || strings.Contains(of, "{") {
		return
	}
	re, err := regexp.CompilePOSIX(of)
	if err != nil {
		return
	}
	if groups := re.FindStringSubmatch(text); groups != nil {
		x.state.setList("BASH_REMATCH", groups)
	}
}
