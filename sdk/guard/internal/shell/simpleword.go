package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// simple expands a word that is always one argument, as most are: text with or without quotes, and variables between double
// quotes. It says whether the word has a part that may be a pattern. The last result is false for all other words; package
// expand would expand these to the same, in many more steps.
func (x *expansion) simple(word *syntax.Word) (text string, pattern, ok bool) {
	if substitutes(word) {
		text, ok := x.substituted(word)
		return text, false, ok
	}
	if len(word.Parts) == 1 {
		return x.simplePart(word.Parts[0])
	}
	var room [64]byte
	whole := room[:0]
	for _, part := range word.Parts {
		text, glob, ok := x.simplePart(part)
		if !ok {
			return "", false, false
		}
		whole = append(whole, text...)
		pattern = pattern || glob
	}
	return string(whole), pattern, len(whole) < maxValue
}

func (x *expansion) simplePart(part syntax.WordPart) (text string, pattern, ok bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		pattern, ok := simpleLit(p.Value)
		return p.Value, pattern, ok
	case *syntax.SglQuoted:
		return p.Value, false, !p.Dollar && len(p.Value) < maxValue
	case *syntax.DblQuoted:
		if p.Dollar {
			return "", false, false
		}
		text, ok := x.simpleQuoted(p.Parts)
		return text, false, ok
	}
	return "", false, false
}

// simpleLit says whether text without quotes is one argument, and whether it may be a pattern.
func simpleLit(text string) (pattern, ok bool) {
	if text == "" || text == ".*" || len(text) >= maxValue {
		return false, false
	}
	if text == "{}" {
		return false, true
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '~':
			if i == 0 {
				return false, false
			}
		case '\\', '{', '}':
			return false, false
		case '*', '?', '[':
			pattern = true
		}
	}
	return pattern, true
}

// simpleQuoted expands text and variables between double quotes.
func (x *expansion) simpleQuoted(parts []syntax.WordPart) (string, bool) {
	if len(parts) == 1 {
		return x.simpleQuotedPart(parts[0])
	}
	var room [64]byte
	whole := room[:0]
	for _, part := range parts {
		text, ok := x.simpleQuotedPart(part)
		if !ok {
			return "", false
		}
		whole = append(whole, text...)
	}
	return string(whole), len(whole) < maxValue
}

func (x *expansion) simpleQuotedPart(part syntax.WordPart) (string, bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value, strings.IndexByte(p.Value, '\\') < 0 && len(p.Value) < maxValue
	case *syntax.ParamExp:
		if !simpleParam(p) {
			return "", false
		}
		v := x.state.Get(p.Param.Value)
		switch {
		case !v.IsSet():
			return Unset, true
		case v.Kind == expand.String:
			x.in.work += len(v.Str)
			return v.Str, len(v.Str) < maxValue
		}
	}
	return "", false
}

// simpleParam says whether an expansion is nothing but the value of a variable.
func simpleParam(p *syntax.ParamExp) bool {
	if p.Param == nil || !p.Short && (p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil) {
		return false
	}
	if p.Names != 0 || p.Flags != nil || len(p.Modifiers) > 0 || p.NestedParam != nil {
		return false
	}
	return p.Param.Value != "@" && p.Param.Value != "*"
}

// substitutes says whether a word has a command substitution between double quotes.
func substitutes(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if quoted, ok := part.(*syntax.DblQuoted); ok {
			for _, inner := range quoted.Parts {
				if _, ok := inner.(*syntax.CmdSubst); ok {
					return true
				}
			}
		}
	}
	return false
}

// substituted is simple for words with command substitutions. These are followed only if the whole word is simple: not once
// here and once more by package expand.
func (x *expansion) substituted(word *syntax.Word) (string, bool) {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if pattern, ok := simpleLit(p.Value); pattern || !ok {
				return "", false
			}
		case *syntax.DblQuoted:
			if p.Dollar || !x.certain(p.Parts) {
				return "", false
			}
		default:
			return "", false
		}
	}
	var whole strings.Builder
	for _, part := range word.Parts {
		quoted, ok := part.(*syntax.DblQuoted)
		if !ok {
			whole.WriteString(part.(*syntax.Lit).Value)
			continue
		}
		for _, inner := range quoted.Parts {
			text := ""
			if cs, ok := inner.(*syntax.CmdSubst); ok {
				text = strings.TrimRight(strings.ReplaceAll(x.prints(cs), "\x00", ""), "\n")
			} else {
				text, _ = x.simpleQuotedPart(inner)
			}
			whole.WriteString(text)
		}
	}
	x.in.work += whole.Len() + perWord
	return whole.String(), true
}

// certain says whether all parts between double quotes are simple, apart from what command substitutions print.
func (x *expansion) certain(parts []syntax.WordPart) bool {
	for _, part := range parts {
		if cs, ok := part.(*syntax.CmdSubst); ok {
			if cs.TempFile || cs.ReplyVar {
				return false
			}
		} else if _, ok := x.simpleQuotedPart(part); !ok {
			return false
		}
	}
	return true
}
