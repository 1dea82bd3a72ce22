package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// defines is where code gives a function a name and parameters.
var defines = pattern.New(`\bdef\s+(\w+)\s*\(([^()]*)\)|\bfunction\s+(\w+)\s*\(([^()]*)\)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s+)?(?:function\s*)?(?:\(([^()]*)\)|(\w+)\s*=>)|\bfunc\s+(?:\([^()]*\)\s*)?(\w+)\s*\(([^()]*)\)|(?:^|[;\n])[ \t]*(\w+)\s*=\s*lambda\b([^:\n()]*):`)

// function is one that code defines.
type function struct {
	name      string
	params    []formal
	decorated bool   // something else may be made of it (Python)
	method    bool   // its first argument is the object that it is called of (Python)
	class     string // of such objects
	member    bool   // it is a member of an object or a class (Node): it is called by that name of whatever object
}

// formal is a parameter of a function.
type formal struct {
	name string
	rest bool // it gets all arguments from there on
}

// functions are those that the code defines.
func (s *skeleton) functions() []function {
	if s.functionsOf == s.code {
		return s.defined
	}
	s.functionsOf, s.defined = s.code, nil
	at, class := 0, ""
	for _, d := range defines.FindAllStringSubmatchIndex(s.code) {
		g := pattern.Groups(s.code, d)
		f := function{name: g[1] + g[3] + g[5] + g[8] + g[10]}
		for param := range strings.SplitSeq(g[2]+g[4]+g[6]+g[7]+g[9]+g[11], ",") {
			f.params = append(f.params, s.formal(param))
		}
		if s.language == "python" {
			between := s.code[at:d[0]]
			if c := classes.FindAllStringSubmatch(between); len(c) > 0 {
				class = c[len(c)-1][1]
			}
			at, f.decorated = d[1], s.decorated(between)
			f.method, f.class = f.params[0].name == "self", class
		}
		s.defined = append(s.defined, f)
	}
	if s.language == "node" {
		s.members()
	}
	return s.defined
}

var (
	// memberFunction is where an object or a class of Node's gets a function by its name, in either form.
	memberFunction = pattern.New(`(?:^|[;{},\n])\s*(?:static\s+)?(?:async\s+)?([A-Za-z_$]\w*)(?:\s*\(([^()]*)\)\s*\{|\s*:\s*(?:async\s*)?(?:function\s*)?\(([^()]*)\)\s*(?:=>|\{))`)
	// otherMember is where members may be called by something else than their names.
	otherMember = pattern.New(`\]\s*\(|\bObject\s*\.|\bReflect\b|\bProxy\b|\bprototype\b|\bextends\b|\bsuper\b|\.\s*(?:call|apply|bind)\b|\bwith\s*\(|\bfor\s*\([^()]*\bin\b`)
)

// notMembers are words that stand before brackets and a block.
var notMembers = names(`if for while switch catch function constructor with`)

// members adds the functions that are members of objects, if all of them are called by their names.
func (s *skeleton) members() {
	found := memberFunction.FindAllStringSubmatch(s.worth(memberFunction))
	if len(found) == 0 || otherMember.MatchString(s.code) {
		return
	}
	for _, m := range found {
		if notMembers[m[1]] {
			continue
		}
		f := function{name: m[1], member: true}
		for param := range strings.SplitSeq(m[2]+m[3], ",") {
			f.params = append(f.params, s.formal(param))
		}
		s.defined = append(s.defined, f)
	}
}

// definition says whether a name at a place is where a member is defined.
func (s *skeleton) definition(place int) bool {
	from := strings.LastIndexAny(s.code[:place], ";{},\n")
	m := memberFunction.FindStringIndex(s.code[max(0, from):])
	return m != nil && m[0] == 0 && max(0, from)+m[1] > place
}

// formal is a parameter as it is written, with a type and a default.
func (s *skeleton) formal(param string) formal {
	param, _, _ = strings.Cut(param, ":")
	param, _, _ = strings.Cut(param, "=")
	words := strings.Fields(param)
	switch {
	case len(words) == 0:
		return formal{}
	case s.language == "go": // NAME TYPE
		return formal{name: words[0], rest: strings.Contains(param, "...")}
	}
	name := strings.TrimLeft(words[len(words)-1], "*.") // TYPE NAME
	return formal{name: name, rest: strings.ContainsAny(param, "*.")}
}

var (
	// decorators stand before a definition that is handed to something else first; classLine is what ends them that belong to a class.
	decorators = pattern.New(`(?m)^[ \t]*@[ \t]*([\w.]*)`)
	classLine  = pattern.New(`(?m)^[ \t]*class\b`)
)

// harmless are decorators that leave a function, or a class, what it is.
var harmless = map[string]bool{"staticmethod": true, "override": true, "overload": true, "lru_cache": true, "functools.lru_cache": true,
	"cache": true, "functools.cache": true, "dataclass": true, "dataclasses.dataclass": true}

// decorated says whether something else may be made of what is defined behind code that begins behind the definition before.
func (s *skeleton) decorated(before string) bool {
	if c := classLine.FindAllStringIndex(before); len(c) > 0 {
		before = before[c[len(c)-1][1]:]
	}
	for i, m := range decorators.FindAllStringSubmatch(before) {
		if name := m[1]; !harmless[name] || i == maxHanded || s.replaced(name) || strings.Contains(s.code, "def "+name) {
			return true
		}
	}
	return false
}
