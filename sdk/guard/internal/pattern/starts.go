package pattern

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// starts is how every match of an expression begins: with one of some words. The expression is then held only against the
// places where one of them stands, which an expression by itself takes a hundred times as long to find.
type starts struct {
	anchored *regexp.Regexp // the expression, at the beginning of a text only
	boundary bool           // what begins a match is the beginning of a word, too
	groups   [][]string     // the words, by their first bytes
	group    [utf8.RuneSelf]uint8
}

const (
	maxStarts = 128  // how many words are looked for
	maxClass  = 8    // how many characters of a class are taken for words
	maxTries  = 4    // how many places are tried, before the expression looks for the next one itself
	maxNear   = 1024 // how long a text is, in bytes, of which single places are tried: each try costs a little for all behind it
)

// startsOf returns how the matches of an expression begin, or nil if they may begin with much else.
func startsOf(expr string) *starts {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	words, boundary, ok := beginnings(re.Simplify())
	if !ok || len(words) == 0 || len(words) > maxStarts {
		return nil
	}
	s := &starts{boundary: boundary}
	for _, word := range words {
		first := word[0]
		if first >= utf8.RuneSelf || boundary && !isWord(first) {
			return nil // the beginning of the text would be none of a word
		}
		if s.group[first] == 0 {
			s.groups = append(s.groups, nil)
			s.group[first] = uint8(len(s.groups))
		}
		at := s.group[first] - 1
		s.groups[at] = append(s.groups[at], word)
	}
	s.anchored, err = regexp.Compile(`\A(?:` + expr + `)`)
	if err != nil {
		return nil // something like \Q reaches to the end
	}
	return s
}

// beginnings are the words that the matches of an expression begin with, and whether each is to be the beginning of a word.
func beginnings(re *syntax.Regexp) (words []string, boundary, ok bool) {
	switch re.Op {
	case syntax.OpAlternate:
		for i, branch := range re.Sub {
			more, bound, ok := beginnings(branch)
			if !ok || i > 0 && bound != boundary {
				return nil, false, false
			}
			words, boundary = append(words, more...), bound
		}
		return words, boundary, true
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpConcat:
		if re.Sub[0].Op == syntax.OpWordBoundary {
			words, nullable, ok := first(re.Sub[1:])
			return words, true, ok && !nullable
		}
	}
	words, nullable, ok := first([]*syntax.Regexp{re})
	return words, false, ok && !nullable
}

// first are the words that a sequence begins with, and whether it may also be empty.
func first(sequence []*syntax.Regexp) (words []string, nullable, ok bool) {
	for _, re := range sequence {
		more, empty, ok := firstOf(re)
		if !ok {
			return nil, false, false
		}
		words = append(words, more...)
		if !empty {
			return words, false, true
		}
	}
	return words, true, true
}

func firstOf(re *syntax.Regexp) (words []string, nullable, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return nil, true, true
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return folded(re.Rune[0])
		}
		// Bytes that are no UTF-8 match the replacement character, too.
		return []string{string(re.Rune)}, false, !slices.Contains(re.Rune, utf8.RuneError)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if words = append(words, string(c)); c >= utf8.RuneSelf || len(words) > maxClass {
					return nil, false, false
				}
			}
		}
		return words, false, true
	case syntax.OpCapture, syntax.OpPlus:
		return firstOf(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		words, _, ok = firstOf(re.Sub[0])
		return words, true, ok
	case syntax.OpConcat:
		return first(re.Sub)
	case syntax.OpAlternate:
		for _, branch := range re.Sub {
			more, empty, ok := firstOf(branch)
			if !ok {
				return nil, false, false
			}
			words, nullable = append(words, more...), nullable || empty
		}
		return words, nullable, true
	}
	return nil, false, false
}

// folded are a character's upper and lower case.
func folded(c rune) (words []string, nullable, ok bool) {
	words = []string{string(c)}
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		words = append(words, string(other))
	}
	return words, false, !slices.ContainsFunc(words, func(word string) bool { return word[0] >= utf8.RuneSelf })
}

// next returns where a match may begin next, or -1.
func (s *starts) next(text string, at int) int {
	for ; at < len(text); at++ {
		c := text[at]
		if c >= utf8.RuneSelf || s.group[c] == 0 || s.boundary && at > 0 && isWord(text[at-1]) {
			continue
		}
		for _, word := range s.groups[s.group[c]-1] {
			if strings.HasPrefix(text[at:], word) {
				return at
			}
		}
	}
	return -1
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
