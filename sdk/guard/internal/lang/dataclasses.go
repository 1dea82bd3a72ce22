package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// dataclass is the head of a class of Python's that has its fields handed to it in their order, or by their names.
	dataclass = pattern.New(`(?m)^[ \t]*@(?:dataclasses\s*\.\s*)?dataclass[ \t]*(\([^()\n]*\))?[ \t]*\n[ \t]*class[ \t]+([A-Za-z_]\w*)[ \t]*(?:\([ \t]*\))?[ \t]*:[ \t]*\n`)
	// field is one, and what it is if nobody says, and otherwiseMade what makes one otherwise.
	field         = pattern.New(`^([A-Za-z_]\w*)[ \t]*:[^=\n]*(?:=[ \t]*([^\n]+))?$`)
	otherwiseMade = pattern.New(`\b(?:init|kw_only|KW_ONLY|ClassVar|InitVar)\b`)
	// byField is a value that isn't written by itself: a constant, or an empty list.
	byField = pattern.New(`^(?:dataclasses\s*\.\s*)?field\s*\(\s*(?:default\s*=\s*("\d+"|\d+)|default_factory\s*=\s*list)\s*\)$`)
	// handedByName is an argument that says which it is.
	handedByName = pattern.New(`^\s*([A-Za-z_]\w*)\s*=(?:[^=]|$)`)
)

// fieldOf is a field of a dataclass.
type fieldOf struct {
	name, otherwise string // the value that it has if none is given; "" if that isn't plain
	literal         string // the name as a string of the code
}

// tabulates writes the objects of dataclasses that have nothing but fields as tables, whose members are followed: Step("vet", ["go", "vet"]) as
// {"name": "vet", "cmd": ["go", "vet"]}.
func (s *skeleton) tabulates() {
	done := map[string]bool{}
	for range maxMapped {
		var next []int
		for _, m := range dataclass.FindAllStringSubmatchIndex(s.code) {
			if !done[s.code[m[4]:m[5]]] {
				next = m
				break
			}
		}
		if next == nil || !s.looks(2*len(s.code)) {
			return
		}
		class := s.code[next[4]:next[5]]
		done[class] = true
		if next[2] >= 0 && otherwiseMade.MatchString(s.code[next[2]:next[3]]) {
			continue
		}
		fields, only := s.fields(next[1])
		if len(fields) == 0 {
			continue
		}
		if s.dataclasses == nil {
			s.dataclasses = map[string][]fieldOf{}
		}
		s.dataclasses[class] = fields
		if only {
			s.makesTables(class, next[4], fields)
		}
	}
}

// fields are those of the class whose body begins at a place, and whether it has nothing else.
func (s *skeleton) fields(body int) (fields []fieldOf, only bool) {
	only = true
	for line := range strings.Lines(s.code[body:]) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text == "pass" || onlyString.MatchString(text) && line[0] <= ' ':
			continue
		case line[0] != ' ' && line[0] != '\t':
			return fields, only
		}
		m := field.FindStringSubmatch(text)
		if m == nil {
			return fields, false // a method; fields behind it aren't looked for
		}
		if otherwiseMade.MatchString(text) || len(fields) == maxMapped {
			return nil, false
		}
		f := fieldOf{name: m[1], otherwise: m[2]}
		if made := byField.FindStringSubmatch(f.otherwise); made != nil {
			f.otherwise = made[1]
			if made[1] == "" {
				f.otherwise = "[]"
			}
		} else if strings.Contains(f.otherwise, "field") {
			f.otherwise = ""
		}
		fields = append(fields, f)
	}
	return fields, only
}

// makesTables writes what makes objects of a class as tables, if the class is used for nothing else that matters.
func (s *skeleton) makesTables(class string, head int, fields []fieldOf) {
	var b strings.Builder
	done := 0
	literals := len(s.literals)
	for i := range fields {
		fields[i].literal = `"` + strconv.Itoa(len(s.literals)) + `"`
		s.literals = append(s.literals, literal{text: fields[i].name})
	}
	only := s.makes(class, head, func(place int, args string) bool {
		values, ok := handedTo(fields, elementsOf(args))
		if !ok || place < done {
			return false
		}
		b.WriteString(s.code[done:place] + asTable(fields, values))
		done = place + len(class) + len(args)
		return true
	})
	if !only {
		s.literals = s.literals[:literals]
		return
	}
	if done > 0 {
		s.rewritten(b.String() + s.code[done:])
	}
}

// handedTo are the values that arguments give fields; "" where it isn't plain what it is.
func handedTo(fields []fieldOf, args []string) (values []string, ok bool) {
	values = make([]string, len(fields))
	for i, arg := range args {
		at := i
		if m := handedByName.FindStringSubmatchIndex(arg); m != nil {
			name := arg[m[2]:m[3]]
			at = slices.IndexFunc(fields, func(f fieldOf) bool { return f.name == name })
			arg = arg[strings.IndexByte(arg, '=')+1:]
		}
		if arg = strings.TrimSpace(arg); at < 0 || at >= len(fields) || arg == "" || arg[0] == '*' || values[at] != "" {
			return nil, false
		}
		values[at] = arg
	}
	for i, f := range fields {
		if values[i] == "" {
			values[i] = f.otherwise
		}
	}
	return values, true
}

// asTable is a table of fields.
func asTable(fields []fieldOf, values []string) string {
	var entries []string
	for i, f := range fields {
		if values[i] != "" {
			entries = append(entries, f.literal+": "+values[i])
		}
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// remade is what makes an object of another one.
var remade = pattern.New(`(?:^|[^.\w])replace\s*\(|\b(?:dataclasses|copy)\s*\.\s*replace\b|__replace__|\bimport\b[^\n]*\breplace\b|\b__(?:init|post_init|new)__\b`)

// classHead is that of a class of Python's, with what decorates it.
var classHead = pattern.New(`(?m)^((?:[ \t]*@[^\n]*\n)*)[ \t]*class[ \t]+([A-Za-z_]\w*)`)

// madeOf follows what those who make objects of a class give the attribute that stands at a place of its body, if they may.
func (h *handing) madeOf(key string, at int) bool {
	s := h.s
	var head []int
	for _, m := range classHead.FindAllStringSubmatchIndex(s.code) {
		if m[1] <= at {
			head = m
		}
	}
	if head == nil || !s.looks(2*len(s.code)) {
		return false
	}
	class := s.code[head[4]:head[5]]
	fields := s.dataclasses[class]
	if head[2] == head[3] {
		return len(fields) == 0 && !strings.HasPrefix(strings.TrimLeft(s.code[at+len(key):], " \t"), ":") // nobody does
	}
	which := slices.IndexFunc(fields, func(f fieldOf) bool { return f.name == key })
	if which < 0 || strings.Count(s.code[head[2]:head[3]], "@") != 1 || remade.MatchString(s.code) {
		return false
	}
	return s.makes(class, head[4], func(_ int, args string) bool {
		values, ok := handedTo(fields, elementsOf(args))
		return ok && values[which] != "" && h.starts("("+values[which]+")")
	})
}

// makes tells where the code makes objects of a class, and of what, and says whether it uses the class, whose name stands at its head, for
// nothing else that matters. It ends where one says so.
func (s *skeleton) makes(class string, head int, one func(place int, args string) bool) bool {
	for place := range places(s.code, class) {
		behind := s.code[place+len(class):]
		before := strings.TrimRight(s.code[max(0, place-maxTold):place], " \t")
		switch {
		case place == head:
		case strings.HasPrefix(behind, "(") && !strings.HasSuffix(before, "class") && !strings.HasSuffix(before, "def"):
			if !one(place, s.region(place+len(class))) {
				return false
			}
		case strings.HasSuffix(before, ":"), strings.HasSuffix(before, "->"), strings.HasSuffix(before, "[") && strings.HasPrefix(behind, "]"):
			// it says what something is
		default:
			return false
		}
	}
	return true
}
