package policy

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LiteralPrefix returns the smallest path that a mount can open for a whitelist's regular expression: every clean
// absolute path that the expression matches is that path or lies below it. exact says that the expression matches
// the path alone, so that it is a file's. An expression without a literal prefix, such as one that is not anchored,
// gives "/", and so does one that does not compile.
//
//	^/etc/hosts$         /etc/hosts, exact
//	^/proc/.*            /proc
//	^/srv/data(/|$)      /srv/data
//	^/tmp/picoclaw-.*    /tmp
//	/proc                /
func LiteralPrefix(pattern string) (path string, exact bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "/", false
	}
	re := parsed.Simplify()
	if !startsAtBegin(re) {
		return "/", false
	}
	literal := literalPrefix(re)
	if !strings.HasPrefix(literal.text, "/") {
		return "/", false
	}
	whole := literal.whole && endsAtEnd(re)
	path, all := cleanPrefix(literal.text, whole || literal.bounded)
	return path, whole && all
}

// cleanPrefix cuts a literal down to the directory that all continuations of it are in. whole says that there are no
// continuations. What is matched against an expression is a clean path, so after an element that no clean path has
// nothing more can match, and the directory before it is enough.
func cleanPrefix(literal string, whole bool) (path string, exact bool) {
	elements := strings.Split(literal[1:], "/")
	path = ""
	for i, element := range elements {
		last := i == len(elements)-1
		if element == "" || element == "." || element == ".." || last && !whole {
			whole = false
			break
		}
		path += "/" + element
	}
	if path == "" {
		return "/", false
	}
	return path, whole
}

// startsAtBegin reports whether every match of re starts at the beginning of the text. It may report false where
// that is hard to see.
func startsAtBegin(re *syntax.Regexp) bool { return passes(re, syntax.OpBeginText) }

// endsAtEnd reports whether every match of re ends at the end of the text, with the same reserve.
func endsAtEnd(re *syntax.Regexp) bool { return passes(re, syntax.OpEndText) }

// passes reports whether every match of re passes the condition. A match that passes the beginning of the text can
// have nothing before it, wherever in the expression the condition stands, and so with the end.
func passes(re *syntax.Regexp, condition syntax.Op) bool {
	passing := func(sub *syntax.Regexp) bool { return passes(sub, condition) }
	switch re.Op {
	case condition:
		return true
	case syntax.OpCapture, syntax.OpConcat:
		return slices.ContainsFunc(re.Sub, passing)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !passing(sub) })
	default:
		return false
	}
}

// zeroWidth reports whether re is a condition, which matches nothing but the empty string.
func zeroWidth(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	default:
		return false
	}
}

// prefix is the text that every match of an expression starts with.
type prefix struct {
	text    string
	whole   bool // it is all of every match
	bounded bool // a slash or the end of the path follows it in every match
}

func literalPrefix(re *syntax.Regexp) prefix {
	switch re.Op {
	case syntax.OpLiteral:
		text, whole := fixedRunes(re)
		return prefix{text: text, whole: whole}
	case syntax.OpCapture:
		return literalPrefix(re.Sub[0])
	case syntax.OpPlus:
		return prefix{text: literalPrefix(re.Sub[0]).text}
	case syntax.OpConcat:
		var all prefix
		for i, sub := range re.Sub {
			next := literalPrefix(sub)
			if all.text += next.text; !next.whole {
				all.bounded = next.bounded || next.text == "" && separates(re.Sub[i:])
				return all
			}
		}
		all.whole = true
		return all
	case syntax.OpAlternate:
		return alternatePrefix(re.Sub)
	default:
		return prefix{whole: zeroWidth(re)}
	}
}

// alternatePrefix is what all of several expressions start with.
func alternatePrefix(alternatives []*syntax.Regexp) prefix {
	all := literalPrefix(alternatives[0])
	for _, sub := range alternatives[1:] {
		next := literalPrefix(sub)
		all.whole = all.whole && next.whole && next.text == all.text
		all.text = commonPrefix(all.text, next.text)
	}
	all.bounded = !slices.ContainsFunc(alternatives, func(sub *syntax.Regexp) bool {
		p := literalPrefix(sub)
		if rest := p.text[len(all.text):]; rest != "" {
			return rest[0] != '/'
		}
		return !p.bounded && (!p.whole || !endsAtEnd(sub))
	})
	return all
}

// separates reports whether every match of expressions behind each other starts with a slash, or is nothing at the end
// of the text.
func separates(list []*syntax.Regexp) bool {
	if len(list) == 0 {
		return false
	}
	first, rest := list[0], list[1:]
	with := func(subs ...*syntax.Regexp) bool { return separates(slices.Concat(subs, rest)) }
	switch first.Op {
	case syntax.OpLiteral:
		return first.Rune[0] == '/'
	case syntax.OpEndText:
		return true
	case syntax.OpEmptyMatch:
		return separates(rest)
	case syntax.OpCapture, syntax.OpConcat:
		return with(first.Sub...)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(first.Sub, func(sub *syntax.Regexp) bool { return !with(sub) })
	case syntax.OpQuest:
		return with(first.Sub...) && separates(rest)
	default:
		return false
	}
}

// fixedRunes returns the runes of a literal up to the first that stands for more than one text: a letter where case
// doesn't matter, and U+FFFD, which also matches any byte that is not UTF-8.
func fixedRunes(re *syntax.Regexp) (literal string, whole bool) {
	var b strings.Builder
	for _, r := range re.Rune {
		if r == utf8.RuneError || re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(r) != r {
			return b.String(), false
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
