package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// matched follows [[ text =~ expression ]], which sets BASH_REMATCH. What isn't a plain match of known texts isn't known.
func (in *Interpreter) matched(x *expansion, test *syntax.BinaryTest) {
	var sides [2]string
	plain := true
	for i, side := range []syntax.TestExpr{test.X, test.Y} {
		word, ok := side.(*syntax.Word)
		if !ok {
			in.test(x, side)
			plain = false
			continue
		}
		sides[i] = x.one(word)
		plain = plain && !HasUnknown(sides[i]) && (i == 0 || !quotes(word))
	}
	if in.work += len(sides[0]) * perWord; plain {
		if pattern, err := regexp.CompilePOSIX(sides[1]); err == nil {
			if groups := pattern.FindStringSubmatch(sides[0]); groups != nil {
				set(in, &x.state.vars, "BASH_REMATCH", expand.Variable{Set: true, Kind: expand.Indexed, List: groups})
				return
			}
		}
	}
	x.state.set("BASH_REMATCH", Unknown)
}

// quotes says whether a part of a word is quoted, or escaped: in an expression, that stands for itself.
func quotes(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			if strings.Contains(p.Value, `\\`) {
				return true
			}
		}
	}
	return false
}
