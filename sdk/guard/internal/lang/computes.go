package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	walrus     = pattern.New(`^[A-Za-z_]\w*\s*:=\s*`)
	firstText  = pattern.New(`^[bBfFrRuU]{0,2}"\d+"\s*`)
	firstName  = pattern.New(`^[$@]?[A-Za-z_][\w.]*\s*`)
	firstCall  = pattern.New(`^\.\s*(\w+)\s*\(`)
	ofEach     = pattern.New(`\sfor\s.*\sin\s`)
	sameText   = names(`Promise.resolve str list tuple String shlex.split shlex.quote shlex.join os.fspath os.fsencode Path pathlib.Path os.path.join path.join path.resolve os.path.expanduser os.path.abspath os.path.normpath`)
	sameMethod = names(`split strip rstrip lstrip trim encode format toString splitlines concat slice as_posix filter`)
)

// computes says whether the first word of what an expression is, or of the first of several arguments, is made by a call, an index or a
// loop within it, which isn't followed.
func (s *skeleton) computes(expression string, depth int) bool {
	if s.language != "python" && s.language != "node" {
		return false
	}
	if elements := elementsOf(expression); depth == 0 && len(elements) > 0 {
		expression = elements[0] // of the arguments
	}
	for depth < maxHere {
		expression = strings.TrimLeft(expression, " \t\n*.")
		expression = expression[len(walrus.FindString(expression)):]
		if expression == "" {
			return false
		}
		switch c := expression[0]; {
		case c == '(' || c == '[':
			end := closingIn(expression)
			if ofEach.MatchString(expression[:end]) || goesInto(expression[end:]) {
				return true
			}
			expression = expression[1:max(1, end-1)]
		case firstText.MatchString(expression):
			return s.changesText(expression[len(firstText.FindString(expression)):])
		case firstName.MatchString(expression):
			name := firstName.FindString(expression)
			rest := expression[len(name):]
			switch name = strings.TrimSpace(name); {
			case name == "new" || name == "await" || name == "not":
				expression = rest
			case strings.HasPrefix(rest, "["):
				return true
			case !strings.HasPrefix(rest, "("):
				return false // a variable
			case !sameText[name]:
				return true
			default:
				end := closingIn(rest)
				if s.changesText(rest[end:]) {
					return true
				}
				expression = rest[1:max(1, end-1)]
			}
		default:
			return false
		}
		depth++
	}
	return true
}

// changesText says whether what stands behind a string makes another one of it of which the beginning isn't known.
func (s *skeleton) changesText(behind string) bool {
	for {
		behind = strings.TrimLeft(behind, " \t\n")
		m := firstCall.FindStringSubmatchIndex(behind)
		if m == nil {
			return strings.HasPrefix(behind, "[") && !strings.HasPrefix(behind, "[]") || strings.HasPrefix(behind, ".")
		}
		if !sameMethod[behind[m[2]:m[3]]] {
			return true
		}
		behind = behind[m[1]-1:]
		behind = behind[closingIn(behind):]
	}
}

// goesInto says whether what stands behind a bracket takes something out of it, or calls it.
func goesInto(behind string) bool {
	behind = strings.TrimLeft(behind, " \t")
	return behind != "" && (behind[0] == '[' || behind[0] == '(' || behind[0] == '.')
}

// closingIn is where the bracket ends that an expression begins with.
func closingIn(expression string) int {
	depth := 0
	for i := range len(expression) {
		switch expression[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(expression)
}
