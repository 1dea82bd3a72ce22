package shell

import (
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// empties says whether an alternative of a brace expression is empty, so that a word may come to nothing: {,a}.
func empties(word *syntax.Word) bool {
	split := *word // SplitBraces replaces the parts
	return syntax.SplitBraces(&split) && emptyIn(split.Parts)
}

func emptyIn(parts []syntax.WordPart) bool {
	for _, part := range parts {
		if expr, ok := part.(*syntax.BraceExp); ok {
			for _, elem := range expr.Elems {
				if nothing(elem) || emptyIn(elem.Parts) {
					return true
				}
			}
		}
	}
	return false
}

// nothing says whether a word has no parts but empty ones, and no quotes.
func nothing(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || lit.Value != "" {
			return false
		}
	}
	return true
}

// braced expands a word with brace expressions one by one: those that come to nothing are no arguments.
func (x *expansion) braced(word *syntax.Word, before int) (out []Field, ok bool) {
	split := *word
	syntax.SplitBraces(&split)
	for each, err := range expand.BracesSeq(x.config(), &split) {
		if err != nil {
			return out, false
		}
		if nothing(each) {
			continue
		}
		more, ok := x.splitKnown(each, before+len(out))
		if out = append(out, more...); !ok {
			return out, false
		}
	}
	return out, true
}
