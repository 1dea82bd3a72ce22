package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// blanks are the characters at which values are split into words where nothing else is said.
const blanks = " \t\n"

// separators are the characters at which values are split into words, as IFS says. Where they aren't known, these are all that they may
// be; "" if that may be any.
func (s *state) separators() (chars string, known bool) {
	v, ok := s.vars.get(s.in, "IFS")
	if !ok || !v.IsSet() {
		return blanks, true
	}
	chars = content(v)
	if !HasUnknown(chars) {
		return chars, true
	}
	if chars = strings.ReplaceAll(chars, Unknown, ""); HasUnknown(chars) {
		chars = ""
	}
	return chars, false
}

// eitherSeparators is IFS where it is one or the other.
func eitherSeparators(a, b expand.Variable) string {
	both := ""
	for _, v := range []expand.Variable{a, b} {
		switch {
		case !v.IsSet():
			both += blanks
		case v.Str == Unknown, v.Kind != expand.String:
			return Unknown
		default:
			both += strings.ReplaceAll(v.Str, Unknown, "")
		}
	}
	if len(both) > maxSeparators {
		return Unknown
	}
	return Unknown + both
}

// maxSeparators is how many characters are told apart at which values may be split.
const maxSeparators = 64

// splits says whether a value may be split at one of some characters; "" stands for any.
func splits(value, separators string) bool {
	return value != "" && (separators == "" || strings.ContainsAny(value, separators+blanks))
}

// joined says whether an expansion is all elements in one word.
func joined(p *syntax.ParamExp) bool {
	word, ok := p.Index.(*syntax.Word)
	return p.Param.Value == "*" || ok && word.Lit() == "*"
}

// marked are the separators each of which ends a word, even one without anything in it. Package expand takes several for one.
func (s *state) marked() string {
	chars, _ := s.separators()
	return strings.Trim(chars, blanks)
}

// even says whether no word without anything in it comes out where a value is split at some marks.
func even(value, marks string) bool {
	if value == "" || !strings.ContainsAny(value, marks) {
		return true
	}
	begin := true
	for _, r := range value {
		switch {
		case strings.ContainsRune(marks, r):
			if begin {
				return false
			}
			begin = true
		case !strings.ContainsRune(blanks, r):
			begin = false
		}
	}
	return !begin
}

// evenly says whether an expansion comes to the words that package expand makes of it.
func evenly(p *syntax.ParamExp, v expand.Variable, marks string) bool {
	if marks == "" {
		return true
	}
	if p.Exp != nil || p.Repl != nil || p.Slice != nil {
		return !strings.ContainsAny(content(v), marks) && plainly(p, marks)
	}
	for _, item := range v.List {
		if !even(item, marks) {
			return false
		}
	}
	for _, item := range v.Map {
		if !even(item, marks) {
			return false
		}
	}
	return even(v.Str, marks)
}

// plainly says whether what an expansion puts in is text without some marks.
func plainly(p *syntax.ParamExp, marks string) bool {
	word := (*syntax.Word)(nil)
	switch {
	case p.Repl != nil:
		word = p.Repl.With
	case p.Exp != nil:
		word = p.Exp.Word
	}
	if word == nil {
		return true
	}
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.ContainsAny(lit.Value, marks) {
			return false
		}
	}
	return true
}

// splitting is the name of no variable: what a command prints, to be split.
const splitting = " split"

// splitPrint is a command substitution without quotes, where it may come to words that package expand doesn't make of it.
func (x *expansion) splitPrint(cs *syntax.CmdSubst, marks string) syntax.WordPart {
	text := strings.TrimRight(strings.ReplaceAll(x.prints(cs), "\x00", ""), "\n")
	if !even(text, marks) {
		return &syntax.Lit{Value: Unknown}
	}
	set(x.in, &x.state.vars, splitting, expand.Variable{Set: true, Kind: expand.String, Str: text})
	return &syntax.ParamExp{Param: &syntax.Lit{Value: splitting}, Short: true}
}
