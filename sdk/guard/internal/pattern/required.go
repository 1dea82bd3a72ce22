package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// maxRequired is how many words are looked for at most: with more, the expression itself is as quick.
const maxRequired = 64

// required returns words of which every match of an expression holds one; none if there are no such.
func required(expr string) []string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	words := wordsOf(re.Simplify())
	if len(words) > maxRequired {
		return nil
	}
	return words
}

func wordsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		// Bytes that are no UTF-8 match the replacement character, too.
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return wordsOf(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, part := range re.Sub {
			if words := wordsOf(part); words != nil && (best == nil || shortest(words) > shortest(best)) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, branch := range re.Sub {
			words := wordsOf(branch)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest word.
func shortest(words []string) int {
	n := len(words[0])
	for _, word := range words {
		n = min(n, len(word))
	}
	return n
}
