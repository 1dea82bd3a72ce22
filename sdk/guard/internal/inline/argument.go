package inline

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// arguments reads the arguments of the call whose name ends at i, and returns how many bytes they take; 0 if there is
// no call.
func (s *scanner) arguments(i int) ([]argument, int) {
	at := i
	for at < len(s.code) && (s.code[at] == ' ' || s.code[at] == '\t') {
		at++
	}
	if at >= len(s.code) {
		return nil, 0
	}
	closing := byte(')')
	switch {
	case s.code[at] == '(':
		at++
	case s.language.Bare && (at > i || strings.IndexByte(s.language.Quotes, s.code[at]) >= 0):
		closing = 0
	default:
		return nil, 0
	}
	args, end := s.list(at, closing)
	if s.work += end - i; s.work > maxWork {
		s.out = append(s.out, Effect{Kind: Complex, Text: "the code has too many calls to look through"})
		s.code = s.code[:0]
		return nil, 0
	}
	return args, end - i
}

// list reads values up to a closing bracket, or, without one, to the end of the statement.
func (s *scanner) list(at int, closing byte) ([]argument, int) {
	var args []argument
	for at < len(s.code) {
		for at < len(s.code) && strings.IndexByte(" \t\n,", s.code[at]) >= 0 && (closing != 0 || s.code[at] != '\n') {
			at++
		}
		if at >= len(s.code) {
			break
		}
		if s.ends(at, closing) {
			return args, at
		}
		before := at
		arg, next := s.value(at, closing)
		if args = append(args, arg); next <= before {
			next = before + 1
		}
		at = next
	}
	return args, len(s.code)
}

// ends reports whether the arguments end at i.
func (s *scanner) ends(i int, closing byte) bool {
	if closing != 0 {
		return s.code[i] == closing
	}
	rest := s.code[i:]
	return strings.IndexByte(";\n)}]", s.code[i]) >= 0 || strings.HasPrefix(rest, "if ") ||
		strings.HasPrefix(rest, "unless ") || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "for ")
}

// value reads one argument: literals and numbers, joined by signs, a list of them, or something that is computed.
func (s *scanner) value(at int, closing byte) (argument, int) {
	var arg argument
	var text strings.Builder
	for at < len(s.code) {
		c := s.code[at]
		if c == ',' || s.ends(at, closing) || s.language.Spaces && c == ' ' {
			break
		}
		lit, n := s.literal(at)
		switch {
		case n > 0 && lit.words:
			arg.list, arg.words = true, append(arg.words, strings.Fields(lit.text)...)
			at += n
		case n > 0:
			text.WriteString(lit.text)
			at += n
		case strings.IndexByte(" \t\n+.", c) >= 0:
			at++
		case (c == '[' || c == '(') && text.Len() == 0:
			items, end := s.list(at+1, map[byte]byte{'[': ']', '(': ')'}[c])
			arg.list = c == '[' || len(items) > 1 || len(items) == 1 && items[0].list
			for _, item := range items {
				arg.words = append(arg.words, item.strings()...)
			}
			if !arg.list && len(items) == 1 {
				text.WriteString(items[0].text)
			}
			at = end + 1
		case c == '[' || c == '(' || c == '{':
			items, end := s.list(at+1, map[byte]byte{'[': ']', '(': ')', '{': '}'}[c])
			switch {
			case c != '{':
				text.WriteString(shell.Unknown)
			case text.Len() == 0:
				arg.name, arg.options = "{}", items
			}
			at = end + 1
		default:
			at = s.word(at, &arg, &text)
		}
	}
	if arg.text = text.String(); arg.list && arg.text != "" {
		arg.words = append(arg.words, shell.Unknown)
	}
	return arg, at
}

// word reads a number or a name in an argument. A name is computed, but for the constants of signals, and the name of
// the argument.
func (s *scanner) word(at int, arg *argument, text *strings.Builder) int {
	end := at + 1
	for end < len(s.code) && (namePart(s.code[end]) || s.joins(end)) {
		end++
	}
	word := s.code[at:end]
	rest := strings.TrimLeft(s.code[end:], " ")
	switch {
	case text.Len() == 0 && nameStart(word[0]) && strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
		arg.name = word
		return end + strings.IndexByte(s.code[end:], '=') + 1
	case text.Len() == 0 && nameStart(word[0]) && strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::"):
		arg.name = word
		return end + strings.IndexByte(s.code[end:], ':') + 1
	case word[0] >= '0' && word[0] <= '9':
		text.WriteString(strings.TrimPrefix(strings.ToLower(word), "0o"))
	case word[0] == '-' || word[0] == ':':
	case strings.Contains(word, "SIG"):
		text.WriteString(word[strings.LastIndex(word, "SIG"):])
	default:
		text.WriteString(shell.Unknown)
	}
	return end
}
