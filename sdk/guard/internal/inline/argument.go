package inline

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// readCallArguments reads the arguments after a function name that ends at i, and returns their length in bytes. The
// length is 0 if no call follows the name.
func (s *callScanner) readCallArguments(i int) ([]callArgument, int) {
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
	case s.language.OptionalParens && (at > i || strings.IndexByte(s.language.Quotes, s.code[at]) >= 0):
		closing = 0
	default:
		return nil, 0
	}
	args, end := s.readArgumentList(at, closing)
	if s.argumentBytes += end - i; s.argumentBytes > maxArgumentBytes {
		s.effects = append(s.effects, CodeEffect{Kind: Complex, Text: "the code has too many calls to analyse"})
		s.code = s.code[:0]
		return nil, 0
	}
	return args, end - i
}

// readArgumentList reads arguments up to the closing bracket, or up to the end of the statement if closing is 0.
func (s *callScanner) readArgumentList(at int, closing byte) ([]callArgument, int) {
	var args []callArgument
	for at < len(s.code) {
		for at < len(s.code) && strings.IndexByte(" \t\n,", s.code[at]) >= 0 && (closing != 0 || s.code[at] != '\n') {
			at++
		}
		if at >= len(s.code) {
			break
		}
		if s.isListEnd(at, closing) {
			return args, at
		}
		before := at
		arg, next := s.readArgument(at, closing)
		if args = append(args, arg); next <= before {
			next = before + 1
		}
		at = next
	}
	return args, len(s.code)
}

func (s *callScanner) isListEnd(i int, closing byte) bool {
	if closing != 0 {
		return s.code[i] == closing
	}
	rest := s.code[i:]
	return strings.IndexByte(";\n)}]", s.code[i]) >= 0 || strings.HasPrefix(rest, "if ") ||
		strings.HasPrefix(rest, "unless ") || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "for ")
}

// readArgument reads one argument of a call. It may be joined string literals and numbers, a list, an object or a
// computed expression.
func (s *callScanner) readArgument(at int, closing byte) (callArgument, int) {
	var arg callArgument
	var text strings.Builder
	for at < len(s.code) {
		c := s.code[at]
		if c == ',' || s.isListEnd(at, closing) || s.language.SpaceSeparated && c == ' ' {
			break
		}
		lit, n := s.readStringLiteral(at)
		switch {
		case n > 0 && lit.isWordList:
			arg.isList, arg.words = true, append(arg.words, strings.Fields(lit.text)...)
			at += n
		case n > 0:
			text.WriteString(lit.text)
			at += n
		case strings.IndexByte(" \t\n+.", c) >= 0:
			at++
		case (c == '[' || c == '(') && text.Len() == 0:
			items, end := s.readArgumentList(at+1, map[byte]byte{'[': ']', '(': ')'}[c])
			arg.isList = c == '[' || len(items) > 1 || len(items) == 1 && items[0].isList
			for _, item := range items {
				arg.words = append(arg.words, item.commandWords()...)
			}
			if !arg.isList && len(items) == 1 {
				text.WriteString(items[0].text)
			}
			at = end + 1
		case c == '[' || c == '(' || c == '{':
			items, end := s.readArgumentList(at+1, map[byte]byte{'[': ']', '(': ')', '{': '}'}[c])
			switch {
			case c != '{':
				text.WriteString(shell.Unknown)
			case text.Len() == 0:
				arg.name, arg.options = "{}", items
			}
			at = end + 1
		default:
			at = s.readArgumentWord(at, &arg, &text)
		}
	}
	if arg.text = text.String(); arg.isList && arg.text != "" {
		arg.words = append(arg.words, shell.Unknown)
	}
	return arg, at
}

// readArgumentWord reads a number or name in an argument. A name is a computed value, unless it is a signal constant or
// a keyword argument's name.
func (s *callScanner) readArgumentWord(at int, arg *callArgument, text *strings.Builder) int {
	end := at + 1
	for end < len(s.code) && (isNamePart(s.code[end]) || s.joinsNameParts(end)) {
		end++
	}
	word := s.code[at:end]
	rest := strings.TrimLeft(s.code[end:], " ")
	switch {
	case text.Len() == 0 && isNameStart(word[0]) && strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
		arg.name = word
		return end + strings.IndexByte(s.code[end:], '=') + 1
	case text.Len() == 0 && isNameStart(word[0]) && strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::"):
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
