package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// single stands behind a positional parameter that isn't known, and is one all the same: it was quoted.
const single = "\uFDD6"

// unsure says whether an argument may be several, or none.
func unsure(arg string) bool {
	return strings.Contains(arg, Unknown[:2]) && (strings.Contains(arg, Unknown) || strings.Contains(arg, Unset)) && !strings.HasSuffix(arg, single)
}

// isSingle says whether a word is one argument, whatever its expansions come to: they are quoted.
func isSingle(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Contains(part.Value, "{") {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if slices.ContainsFunc(part.Parts, isSeveral) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isSeveral says whether a part between double quotes may be several arguments, or none: "$@".
func isSeveral(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && (p.Param == nil || p.Param.Value == "@" || p.Index != nil || p.Names != 0 || p.Excl)
}

// positional are positional parameters, as arguments make them.
func positional(args []Field) []string {
	params := Texts(args)
	for i, arg := range args {
		if arg.single {
			params[i] += single
		}
	}
	return params
}

// positional are the positional parameters that a program is given for its code.
func (c *Call) positional(params []string) []string {
	if !slices.ContainsFunc(params, unsure) || slices.ContainsFunc(c.Argv, func(f Field) bool { return unsure(f.Text) && !f.single }) {
		return params
	}
	params = slices.Clone(params)
	for i, param := range params {
		if unsure(param) {
			params[i] += single
		}
	}
	return params
}

// param is a positional parameter: which one isn't known where those before it may be several, or none.
func (s *state) param(n int) expand.Variable {
	for i, param := range s.params[:min(n+1, len(s.params))] {
		if i > 0 && unsure(param) {
			return expand.Variable{Set: true, Kind: expand.String, Str: Unknown}
		}
	}
	if n >= len(s.params) {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: strings.TrimSuffix(s.params[n], single)}
}

// args are the positional parameters, without $0.
func (s *state) args() []string {
	if len(s.params) == 0 {
		return nil
	}
	args, cloned := s.params[1:], false
	for i, arg := range args {
		if strings.HasSuffix(arg, single) {
			if !cloned {
				args, cloned = slices.Clone(args), true
			}
			args[i] = strings.TrimSuffix(arg, single)
		}
	}
	return args
}

// count is how many positional parameters there are; -1 if that isn't known.
func (s *state) count() int {
	if len(s.params) == 0 {
		return 0
	}
	if slices.ContainsFunc(s.params[1:], unsure) {
		return -1
	}
	return len(s.params) - 1
}

// shift leaves out the first positional parameters.
func (s *state) shift(n int) {
	switch {
	case n < 0 || n >= len(s.params):
	case slices.ContainsFunc(s.params[1:1+n], unsure):
		s.params = []string{s.params[0], Unknown} // any of them, or none
	default:
		s.params = append(s.params[:1:1], s.params[1+n:]...)
	}
}
