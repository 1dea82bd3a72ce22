package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	// begun is what a statement begins with that defines a function, or a class, and nothing else.
	begun = map[string]*pattern.Pattern{
		"python": pattern.New(`^(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)`),
		"node":   pattern.New(`^(?:export\s+)?(?:async\s+)?(?:function\s*\*?|class)\s+([A-Za-z_]\w*)|^(?:export\s+)?(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)[^=;]*=>|\w+\s*=>)|^(?:module\.)?exports\.([A-Za-z_]\w*)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)[^=;]*=>|\w+\s*=>)`),
	}
	// header is the line that a method begins with, and method that of Node.
	header = pattern.New(`(?m)^([ \t]+)(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(`)
	method = pattern.New(`(?:^|[;}])\s*(?:async\s+)?\*?\s*[A-Za-z_#]\w*\s*\([^()]*\)[^;{}()]*$`)
	// exported is a list of what other files may use.
	exported = pattern.New(`\b(?:module\.)?exports\s*=\s*\{[\w\s,]*\}|\bexport\s*\{[\w\s,]*\}|\b__all__\s*=\s*[\[(][^\[\]()]*[\])]`)
	// ofModule is what stands before a function of the language's own.
	ofModule = pattern.New(`\b(?:subprocess|os|asyncio|child_process)\.$`)
	// byTools are names by which tools find the functions of a file.
	byTools = pattern.New(`^(?:pytest_|test|Test|setup|setUp|teardown|tearDown|__|main$|default$)`)
	// tested are classes whose methods tools call.
	tested = pattern.New(`^class[ \t]+\w+[ \t]*\([^()]*(?:Test|Case|Command|Plugin|Thread|Process)`)
)

// unknown says whether an effect is that of a command whose program isn't known.
func (e Effect) unknown() bool {
	switch e.Kind {
	case Dynamic:
		return true
	case Shell:
		first, _, _ := strings.Cut(strings.TrimSpace(e.Text), " ")
		return strings.Contains(first, shell.Item) || strings.Contains(first, shell.Unknown)
	case Argv:
		return len(e.Argv) > 0 && (strings.Contains(e.Argv[0], shell.Item) || strings.Contains(e.Argv[0], shell.Unknown))
	}
	return false
}

// uncalled is the name of the function, or of the class, in whose body a place is, if the code defines it and does nothing with it: then
// nothing of it runs before other code calls it. "" if that isn't plain.
func (s *skeleton) uncalled(place int) string {
	begins := begun[s.language]
	if begins == nil || !s.looks(2*len(s.code)) {
		return ""
	}
	start, before := s.topmost(place)
	m := begins.FindStringSubmatch(s.code[start:place])
	if m == nil || strings.HasPrefix(strings.TrimSpace(before), "@") {
		return ""
	}
	name := strings.Join(m[1:], "")
	inside := s.inNode
	if s.language == "python" {
		inside = s.inPython
	}
	if byTools.MatchString(name) || tested.MatchString(s.code[start:place]) || !inside(start, place) {
		return ""
	}
	times := 0
	code := exported.ReplaceAllString(s.code, "")
	for at := range mentions(code, name) {
		if !ofModule.MatchString(code[max(0, at-maxTold):at]) {
			times++
		}
	}
	if times != 1 {
		return ""
	}
	for _, l := range s.literals {
		for range mentions(l.text, name) {
			return "" // code in strings, or a name that it is found by
		}
	}
	return name
}

// inPython says whether a place is in the body of a function, or of a method of a class, whose definition begins at start.
func (s *skeleton) inPython(start, place int) bool {
	if findsClasses.MatchString(s.code) {
		return false
	}
	indent := 0
	if strings.HasPrefix(s.code[start:], "class") {
		methods := header.FindAllStringSubmatchIndex(s.code[start:place])
		if len(methods) == 0 {
			return false
		}
		last := methods[len(methods)-1]
		if s.decorated(s.code[start : start+last[0]]) {
			return false
		}
		indent = last[3] - last[2]
		start += last[0]
	}
	open := strings.IndexByte(s.code[start:place], '(')
	if open < 0 {
		return false
	}
	body := s.closing(start + open)
	colon := strings.IndexByte(s.code[body:], ':')
	if colon < 0 || body+colon >= place {
		return false
	}
	_, lines, _ := strings.Cut(s.code[body+colon:place+1], "\n")
	for line := range strings.SplitSeq(lines, "\n") {
		if rest := strings.TrimLeft(line, " \t"); rest != "" && len(line)-len(rest) <= indent {
			return false // it is behind that
		}
	}
	return true
}

// inNode says the same of a function, or of a method of a class, of Node's.
func (s *skeleton) inNode(start, place int) bool {
	head := s.code[start:place]
	var body, end int
	switch arrow := strings.Index(head, "=>"); {
	case strings.HasPrefix(strings.TrimPrefix(head, "export "), "class"):
		class := start + strings.IndexByte(s.code[start:], '{')
		if class < start || class > place {
			return false
		}
		depth, open := 0, -1
		for i := class; i < place; i++ {
			switch s.code[i] {
			case '{':
				if depth++; depth == 2 {
					open = i
				}
			case '}':
				depth--
			}
		}
		since := max(strings.LastIndexAny(s.code[class+1:max(class+1, open)], ";}")+class+1, class+1)
		return depth >= 2 && method.MatchString(s.code[since:open]) && !strings.Contains(s.code[since:open], "static")
	case strings.Contains(begun["node"].FindString(head), "function"):
		params := strings.IndexByte(head, '(')
		if params < 0 {
			return false
		}
		body = s.closing(start + params)
		brace := strings.IndexByte(s.code[body:], '{')
		if brace < 0 {
			return false
		}
		body += brace
		end = s.closing(body)
	case arrow < 0:
		return false
	default:
		body = start + arrow + 2
		body += len(s.code[body:]) - len(strings.TrimLeft(s.code[body:], " \t\n"))
		if body < len(s.code) && s.code[body] == '{' {
			end = s.closing(body)
		} else {
			expression, _ := s.upToComma(body)
			end = body + len(expression)
		}
	}
	next := strings.TrimLeft(s.code[end:], " \t\n")
	return place >= body && place < end && (next == "" || strings.IndexByte(`(.["`, next[0]) < 0)
}

// topmost is where the statement begins, within no other one, that a place is in, and the line before.
func (s *skeleton) topmost(place int) (start int, before string) {
	depth := 0
	from := 0 // of the line
	last := ""
	for at := 0; at <= place && at < len(s.code); {
		end := strings.IndexByte(s.code[at:], '\n')
		if end < 0 {
			end = len(s.code) - at
		}
		line := s.code[at : at+end]
		top := depth == 0 && line != "" && line[0] != ' ' && line[0] != '\t' && line[0] != '}' && line[0] != ')' && line[0] != ']'
		if top {
			start, from, before = at, at, last
		}
		depth += strings.Count(line, "(") + strings.Count(line, "[") + strings.Count(line, "{") - strings.Count(line, ")") - strings.Count(line, "]") - strings.Count(line, "}")
		if strings.TrimSpace(line) != "" {
			last = line
		}
		at += end + 1
	}
	if semi := strings.LastIndexByte(s.code[from:place], ';'); semi >= 0 && !strings.ContainsAny(s.code[from:from+semi], "{(") {
		start = from + semi + 1
		for start < place && (s.code[start] == ' ' || s.code[start] == '\t') {
			start++
		}
	}
	return start, before
}
