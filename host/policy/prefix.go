package policy

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LiteralPathPrefix returns the deepest path that contains every path that a whitelist's regular expression matches. A
// mount of it therefore opens all of them. exact says that the expression matches only this path, which is then a file.
// For an expression without a literal prefix, such as an unanchored or invalid one, the path is "/".
func LiteralPathPrefix(pattern string) (path string, exact bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "/", false
	}
	re := parsed.Simplify()
	if !requiresOp(re, syntax.OpBeginText) {
		return "/", false
	}
	literal := requiredPrefixOf(re)
	if !strings.HasPrefix(literal.text, "/") {
		return "/", false
	}
	whole := literal.whole && endsAtTextEnd(re)
	path, all := cleanPathPrefix(literal.text, whole || literal.bounded)
	return path, whole && all
}

// cleanPathPrefix returns the deepest directory that contains all paths that begin with a literal text. With whole, the
// text is a complete path. An element such as ".." ends the prefix, since no clean path contains it.
func cleanPathPrefix(literal string, whole bool) (path string, exact bool) {
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

// endsAtTextEnd reports whether every match of re ends at the end of the text; false if unknown.
func endsAtTextEnd(re *syntax.Regexp) bool { return requiresOp(re, syntax.OpEndText) }

// requiresOp reports whether every match of re satisfies the begin-of-text or end-of-text condition, which may be
// anywhere in re.
func requiresOp(re *syntax.Regexp, condition syntax.Op) bool {
	passing := func(sub *syntax.Regexp) bool { return requiresOp(sub, condition) }
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

func matchesOnlyEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	default:
		return false
	}
}

// literalMatchPrefix is the text with which every match of an expression starts.
type literalMatchPrefix struct {
	text    string
	whole   bool // it is the whole of every match
	bounded bool // a slash or the end of the path follows
}

func requiredPrefixOf(re *syntax.Regexp) literalMatchPrefix {
	switch re.Op {
	case syntax.OpLiteral:
		text, whole := unambiguousPrefix(re)
		return literalMatchPrefix{text: text, whole: whole}
	case syntax.OpCapture:
		return requiredPrefixOf(re.Sub[0])
	case syntax.OpPlus:
		return literalMatchPrefix{text: requiredPrefixOf(re.Sub[0]).text}
	case syntax.OpConcat:
		var all literalMatchPrefix
		for i, sub := range re.Sub {
			next := requiredPrefixOf(sub)
			if all.text += next.text; !next.whole {
				all.bounded = next.bounded || next.text == "" && startsWithSlash(re.Sub[i:])
				return all
			}
		}
		all.whole = true
		return all
	case syntax.OpAlternate:
		return commonRequiredPrefix(re.Sub)
	default:
		return literalMatchPrefix{whole: matchesOnlyEmpty(re)}
	}
}

// commonRequiredPrefix returns the required prefix that several alternative expressions have in common.
func commonRequiredPrefix(alternatives []*syntax.Regexp) literalMatchPrefix {
	all := requiredPrefixOf(alternatives[0])
	for _, sub := range alternatives[1:] {
		next := requiredPrefixOf(sub)
		all.whole = all.whole && next.whole && next.text == all.text
		all.text = commonPrefix(all.text, next.text)
	}
	all.bounded = !slices.ContainsFunc(alternatives, func(sub *syntax.Regexp) bool {
		p := requiredPrefixOf(sub)
		if rest := p.text[len(all.text):]; rest != "" {
			return rest[0] != '/'
		}
		return !p.bounded && (!p.whole || !endsAtTextEnd(sub))
	})
	return all
}

// startsWithSlash reports whether every match of consecutive expressions starts with a slash, or is empty at the end of
// the text.
func startsWithSlash(list []*syntax.Regexp) bool {
	if len(list) == 0 {
		return false
	}
	first, rest := list[0], list[1:]
	with := func(subs ...*syntax.Regexp) bool { return startsWithSlash(slices.Concat(subs, rest)) }
	switch first.Op {
	case syntax.OpLiteral:
		return first.Rune[0] == '/'
	case syntax.OpEndText:
		return true
	case syntax.OpEmptyMatch:
		return startsWithSlash(rest)
	case syntax.OpCapture, syntax.OpConcat:
		return with(first.Sub...)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(first.Sub, func(sub *syntax.Regexp) bool { return !with(sub) })
	case syntax.OpQuest:
		return with(first.Sub...) && startsWithSlash(rest)
	default:
		return false
	}
}

// unambiguousPrefix returns the runes of a literal up to the first ambiguous rune: a case-insensitive letter, or U+FFFD,
// which also matches invalid UTF-8.
func unambiguousPrefix(re *syntax.Regexp) (literal string, whole bool) {
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
