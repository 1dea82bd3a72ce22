package shell

import (
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// braces is how many brace expressions stand behind each other in the longest word that a word may expand to. Each of them
// at least doubles the words, and to find even the first of these takes a time that grows with the square of the number.
func braces(word *syntax.Word) int {
	split := *word // SplitBraces replaces the parts
	if !syntax.SplitBraces(&split) {
		return 0
	}
	return inBraces(split.Parts)
}

func inBraces(parts []syntax.WordPart) int {
	n := 0
	for _, part := range parts {
		if expr, ok := part.(*syntax.BraceExp); ok {
			longest := 0
			for _, elem := range expr.Elems {
				longest = max(longest, inBraces(elem.Parts))
			}
			n += 1 + longest
		}
	}
	return n
}

// unbraced are the words that the braces of one make: without those of nothing at all, which are no arguments. It says whether package
// expand would find nothing more to do about them.
func unbraced(word *syntax.Word) ([]*syntax.Word, bool) {
	split := *word // SplitBraces replaces the parts
	if !syntax.SplitBraces(&split) || inBraces(split.Parts) == 0 {
		return []*syntax.Word{word}, true
	}
	var words []*syntax.Word
	for w, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(words) > maxFields {
			return nil, false
		}
		w.Parts = slices.DeleteFunc(slices.Clone(w.Parts), func(part syntax.WordPart) bool { lit, ok := part.(*syntax.Lit); return ok && lit.Value == "" })
		if len(w.Parts) == 0 {
			continue
		}
		if again := *w; braces(&again) > 0 || longerName(w.Parts) {
			return nil, false
		}
		words = append(words, w)
	}
	return words, true
}

// longerName says whether braces have put letters behind the name of a variable, as in $x{a,b}, where the shell, which takes them for text,
// finds the variable xa.
func longerName(parts []syntax.WordPart) bool {
	for i, part := range parts[:max(0, len(parts)-1)] {
		p, ok := part.(*syntax.ParamExp)
		if !ok || !p.Short || p.Param == nil || !syntax.ValidName(p.Param.Value) {
			continue
		}
		if next, ok := parts[i+1].(*syntax.Lit); ok && next.Value != "" && nameByte(next.Value[0], true) {
			return true
		}
	}
	return false
}
