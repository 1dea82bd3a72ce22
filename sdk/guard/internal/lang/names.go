package lang

import (
	"iter"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// places are where a name stands in code by itself, neither part of another one nor a member of something.
func places(code, name string) iter.Seq[int] {
	return found(code, name, func(before byte) bool { return begins(before, name[0]) })
}

// mentions are where a name stands in code, or that of a member.
func mentions(code, name string) iter.Seq[int] {
	return found(code, name, func(before byte) bool { return !wordByte(before) })
}

// found are where a name stands in code and doesn't go on, if it may stand behind what stands before it.
func found(code, name string, behind func(before byte) bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; name != ""; at += len(name) {
			next := strings.Index(code[at:], name)
			if next < 0 {
				return
			}
			at += next
			if end := at + len(name); (at == 0 || behind(code[at-1])) && (end == len(code) || !wordByte(code[end])) && !yield(at) {
				return
			}
		}
	}
}

// begins says whether a name that begins with first may stand behind a byte.
func begins(before, first byte) bool {
	if first == '$' || first == '@' {
		return before != '\\'
	}
	return !wordByte(before) && strings.IndexByte("$@.", before) < 0
}

// substitute replaces a name by what by makes of what stands behind it; where that says no, the name stays.
func substitute(code, name string, by func(behind string) (string, bool)) string {
	var b strings.Builder
	done := 0
	for at := range places(code, name) {
		if text, ok := by(code[at+len(name):]); ok {
			b.WriteString(code[done:at])
			b.WriteString(text)
			done = at + len(name)
		}
	}
	if done == 0 {
		return code
	}
	b.WriteString(code[done:])
	return b.String()
}

// renameCall calls a function by another name, and renameModule what a name is of a module.
func (s *skeleton) renameCall(name, by string) {
	s.code, s.pairs = substitute(s.code, name, func(behind string) (string, bool) {
		return by, strings.HasPrefix(strings.TrimLeft(behind, " \t\n"), "(")
	}), nil
}

func (s *skeleton) renameModule(name, by string) {
	s.code, s.pairs = substitute(s.code, name, func(behind string) (string, bool) { return by, strings.HasPrefix(behind, ".") }), nil
}

// maxTarget is how much of what something is set to is looked at.
const maxTarget = 128

// setTo says whether something may be set to what a pattern matches at its beginning. The expressions that find all about it
// may begin with any name, and are slow for that.
func (s *skeleton) setTo(what *pattern.Pattern) bool {
	code := s.code
	for {
		at := strings.IndexByte(code, '=')
		if at < 0 {
			return false
		}
		code = code[at+1:]
		value := strings.TrimLeft(code, " \t\n\v\f\r")
		long := len(value) > maxTarget
		value = value[:min(len(value), maxTarget)]
		if what.MatchString(value) || long && !strings.ContainsAny(value, ";,)}") {
			return true // or nobody knows yet
		}
	}
}

// sets says whether what stands behind a variable sets it.
func sets(behind string) bool {
	behind = strings.TrimLeft(behind, " \t")
	operator := strings.TrimLeft(behind, "+-*/.|&%^<?")
	if len(operator) == 0 || operator[0] != '=' || len(behind)-len(operator) > 2 {
		return strings.HasPrefix(behind, "<<")
	}
	return len(operator) == 1 || strings.IndexByte("=~>", operator[1]) < 0 && behind[0] != '<'
}
