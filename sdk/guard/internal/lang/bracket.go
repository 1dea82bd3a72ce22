package lang

import "strings"

// maxLooked is how many bytes of code are looked at to see what is done with its strings. Beyond, the worst is supposed.
const maxLooked = 128 << 10

// looks counts bytes that are looked at, and says whether there may be more.
func (s *skeleton) looks(bytes int) bool {
	s.looked += bytes
	return s.looked < maxLooked
}

// enclosing is the bracket that is open at a place, of the same statement, and whether a comma stands between. Of the brackets
// of a block none counts.
func (s *skeleton) enclosing(at int) (bracket int, comma bool) {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		switch s.code[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth == 0 {
				if s.code[i] == '{' && block(s.code[:i]) {
					return -1, false
				}
				return i, comma
			}
			depth--
		case ',':
			comma = comma || depth == 0
		case ';':
			if depth == 0 {
				return -1, false
			}
		}
	}
	return -1, false
}

// block says whether a brace behind code begins statements.
func block(before string) bool {
	before = strings.TrimRight(before, " \t\n")
	return before == "" || strings.HasSuffix(before, ")") || strings.HasSuffix(before, "=>") || strings.HasSuffix(before, ";") || strings.HasSuffix(before, "}") || wordBefore(before+" ") == "else" ||
		wordBefore(before+" ") == "try" || wordBefore(before+" ") == "finally" || wordBefore(before+" ") == "do"
}

// statement is where the statement begins that a place is in.
func (s *skeleton) statement(at int) int {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		switch s.code[i] {
		case ')', ']':
			depth++
		case '}':
			depth++
		case '(', '[', '{':
			if depth == 0 {
				return i + 1
			}
			depth--
		case ';', '\n':
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// wordsOf is the first line of a statement.
func wordsOf(statement string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(statement, " \t\n"), "\n")
	first, _, _ := strings.Cut(line, " ")
	return first
}

// closing is where what a bracket begins ends.
func (s *skeleton) closing(bracket int) int {
	depth := 0
	for i := bracket; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s.code)
}

// wordBefore is the word that ends code, spaces left out; "" if a sign does.
func wordBefore(code string) string {
	trimmed := strings.TrimRight(code, " \t")
	if len(trimmed) == len(code) {
		return "" // no space between
	}
	i := len(trimmed)
	for i > 0 && wordByte(trimmed[i-1]) {
		i--
	}
	return trimmed[i:]
}

// callee splits the name of the function that ends code from what it is a member of.
func callee(code string) (receiver, name string) {
	i := len(code)
	for i > 0 {
		switch c := code[i-1]; {
		case wordByte(c) || strings.IndexByte(".$?!", c) >= 0:
			i--
			continue
		case (c == ']' || c == ')') && i < len(code):
			if open := opening(code[:i]); open >= 0 {
				i = open
				continue
			}
		}
		break
	}
	whole := code[i:]
	if dot := strings.LastIndexByte(whole, '.'); dot >= 0 {
		return whole[:dot], whole[dot+1:]
	}
	return "", whole
}

// enclosedBy is the name of what the bracket belongs to that a place stands in.
func (s *skeleton) enclosedBy(at int) string {
	bracket, _ := s.enclosing(at)
	if bracket < 0 {
		return ""
	}
	_, name := callee(strings.TrimRight(s.code[:bracket], " \t"))
	return name
}

// opening is where the bracket begins that ends code; -1 if none does.
func opening(code string) int {
	depth := 0
	for i := len(code) - 1; i >= 0; i-- {
		switch code[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
