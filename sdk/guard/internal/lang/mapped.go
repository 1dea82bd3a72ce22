package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// mapped are calls that call a function for each element of a list, and submitted those that call it by itself, elsewhere or later.
	mapped    = pattern.New(`(?:\b[A-Za-z_][\w.]*(?:\([^()]*\))?\s*\.\s*)?\bmap(\s*\()\s*([A-Za-z_]\w*)\s*,`)
	submitted = pattern.New(`\b[A-Za-z_][\w.]*\s*\.\s*(?:submit|to_thread|run_in_executor)\s*\(\s*(?:None\s*,\s*)?([A-Za-z_]\w*)\s*(,|\))`)
	// mappedByName is the same of Node's, by the name of the function.
	mappedByName = pattern.New(`\.\s*(map|forEach|flatMap)\s*\(\s*([A-Za-z_$]\w*)\s*\)`)
	// ownMapper is where code defines a function of such a name itself.
	ownMapper = pattern.New(`\b(?:def|function|class)\s+(?:map|submit|to_thread|forEach|flatMap)\b|\b(?:map|submit|forEach|flatMap)\s*(?:=[^=>]|:=)|\bprototype\b`)
	// mapOption is one that doesn't change what is called.
	mapOption = pattern.New(`^\s*(?:timeout|chunksize)\s*=`)
	// addsArguments is where a list gets all that a program of Python's was given.
	addsArguments = pattern.New(`\b([A-Za-z_]\w*)[ \t]*\+=[ \t]*sys\.argv\[(\d+):\]`)
	// empties are loops that take one element after the other out of a list until nothing is left.
	empties = map[string]*pattern.Pattern{
		"python": pattern.New(`(?m)^[ \t]*(while[ \t]+([A-Za-z_]\w*)[ \t]*:[ \t]*\n[ \t]+([A-Za-z_]\w*)[ \t]*=[ \t]*([A-Za-z_]\w*)\.(?:pop\((?:0|-1)?\)|popleft\(\)))[ \t]*$`),
		"node":   pattern.New(`(while\s*\(\s*([A-Za-z_$]\w*)\.length(?:\s*>\s*0)?\s*\)\s*\{\s*(?:const|let|var)\s+([A-Za-z_$]\w*)\s*=\s*([A-Za-z_$]\w*)\.(?:shift|pop)\(\s*\))\s*[;\n]`),
	}
	// addsOnly is what stands behind a list that something is added to, and queue one of Python's that is made of a list.
	addsOnly = pattern.New(`^\s*\.\s*(?:append|appendleft|extend|push|unshift)\s*\(`)
	queue    = pattern.New(`^(\s*=\s*)(?:collections\s*\.\s*)?deque(\()\s*\[`)
)

// maxMapped is how many calls and loops of this kind are written otherwise.
const maxMapped = 32

// maps writes calls that hand the elements of a list to a function of the code as loops that do, and loops that empty a list as ones that
// go over it. For what is started it comes to the same.
func (s *skeleton) maps() {
	if loop := empties[s.language]; loop != nil && loop.MatchString(s.worth(loop)) {
		s.goesOver(loop)
	}
	switch s.language {
	case "python":
		if dataclass.MatchString(s.worth(dataclass)) {
			s.tabulates()
		}
		if addsArguments.MatchString(s.worth(addsArguments)) {
			s.rewritten(addsArguments.ReplaceAllString(s.code, "$1.extend(sys.argv[$2:])"))
		}
		if (mapped.MatchString(s.worth(mapped)) || submitted.MatchString(s.worth(submitted))) && !ownMapper.MatchString(s.code) {
			s.rewritten(submitted.ReplaceAllStringFunc(s.code, func(call string) string {
				m := submitted.FindStringSubmatch(call)
				if !s.definesFunction(m[1]) {
					return call
				}
				return m[1] + "(" + strings.Trim(m[2], ",")
			}))
			s.mapsInPython()
		}
	case "node":
		if mappedByName.MatchString(s.worth(mappedByName)) && !ownMapper.MatchString(s.code) {
			times := 0
			s.rewritten(mappedByName.ReplaceAllStringFunc(s.code, func(call string) string {
				m := mappedByName.FindStringSubmatch(call)
				if times++; times > maxMapped || !s.definesFunction(m[2]) {
					return call
				}
				element := "each" + strconv.Itoa(times) + "_"
				return "." + m[1] + "((" + element + ") => " + m[2] + "(" + element + "))"
			}))
		}
	}
}

// rewritten takes other code for that of the text, which does the same.
func (s *skeleton) rewritten(code string) {
	if code != s.code {
		s.code, s.pairs = code, nil
	}
}

// definesFunction says whether the code defines a function of that name, which gets its arguments one by one.
func (s *skeleton) definesFunction(name string) bool {
	return slices.ContainsFunc(s.functions(), func(f function) bool { return f.name == name && len(f.params) > 0 && !f.params[0].rest })
}

func (s *skeleton) mapsInPython() {
	var b strings.Builder
	done := 0
	for i, m := range mapped.FindAllStringSubmatchIndex(s.code) {
		name := s.code[m[4]:m[5]]
		if i == maxMapped || m[0] < done || !s.definesFunction(name) {
			continue
		}
		end := s.closing(m[3] - 1)
		args := elementsOf(s.code[m[3]-1 : end])
		if len(args) < 2 || slices.ContainsFunc(args[2:], func(arg string) bool { return !mapOption.MatchString(arg) }) {
			continue
		}
		element := "each" + strconv.Itoa(i) + "_"
		b.WriteString(s.code[done:m[0]] + "[" + name + "(" + element + ") for " + element + " in " + strings.TrimSpace(args[1]) + "]")
		done = end
	}
	if done > 0 {
		s.rewritten(b.String() + s.code[done:])
	}
}

// goesOver writes loops that empty a list, of which the code makes no other use than to fill it, as loops over it.
func (s *skeleton) goesOver(loops *pattern.Pattern) {
	for range maxMapped {
		m := loops.FindStringSubmatchIndex(s.code)
		if m == nil || s.code[m[4]:m[5]] != s.code[m[8]:m[9]] || !s.looks(2*len(s.code)) {
			return
		}
		list, variable := s.code[m[4]:m[5]], s.code[m[6]:m[7]]
		var opening, closing []int // of what makes a queue of it
		for place := range places(s.code, list) {
			behind := s.code[place+len(list):]
			switch q := queue.FindStringSubmatchIndex(behind); {
			case place > m[2] && place < m[3]:
			case q != nil:
				end := s.closing(place + len(list) + q[4])
				opening, closing = append(opening, place+len(list)+q[3], place+len(list)+q[5]), append(closing, end-1, end)
			case plainlySet.MatchString(behind), addsOnly.MatchString(behind):
			case strings.HasSuffix(s.code[:place], "len("):
			default:
				return
			}
		}
		if len(opening) > 2 || len(opening) == 2 && closing[1] > m[2] {
			return
		}
		head := "for " + variable + " in " + list + ":\n" + " pass"
		if s.language == "node" {
			head = "for (const " + variable + " of " + list + ") {"
		}
		code := s.code[:m[2]] + head + s.code[m[3]:]
		if len(opening) == 2 {
			code = code[:closing[0]] + code[closing[1]:]
			code = code[:opening[0]] + code[opening[1]:]
		}
		s.rewritten(code)
	}
}
