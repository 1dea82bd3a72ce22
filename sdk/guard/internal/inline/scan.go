package inline

import "strings"

// scanner goes through code once and looks at the calls in it.
type scanner struct {
	language *Language
	code     string
	depth    int
	imports  map[string]string // full names by those that the code uses
	work     int               // bytes of arguments so far
	out      []Effect

	moved   bool // the code changes its working directory
	starts  bool // a command is started, or a descriptor given another meaning
	forks   bool
	sockets bool
}

// scan steps over comments and strings and looks at every name.
func (s *scanner) scan() {
	for i := 0; i < len(s.code); {
		c := s.code[i]
		switch {
		case s.comment(i):
			for i < len(s.code) && s.code[i] != '\n' {
				i++
			}
		case strings.HasPrefix(s.code[i:], "/*") && strings.Contains(s.language.Comments, "//"):
			end := strings.Index(s.code[i+2:], "*/")
			if end < 0 {
				return
			}
			i += end + 4
		case c == '`' && s.language.Ticks:
			text, n := quoted(s.code[i:], '`')
			s.start(Effect{Kind: Shell, Text: s.inserted(text)})
			i += n
		case nameStart(c) || c == '%' && s.language.Words:
			i = s.name(i)
		default:
			if _, n := s.literal(i); n > 0 {
				i += n
				continue
			}
			i++
		}
	}
}

// comment reports whether a comment begins at i. A "#" in the middle of a word is none.
func (s *scanner) comment(i int) bool {
	for mark := range strings.FieldsSeq(s.language.Comments) {
		if strings.HasPrefix(s.code[i:], mark) {
			return mark != "#" || i == 0 || strings.IndexByte(" \t\n;{}()", s.code[i-1]) >= 0
		}
	}
	return false
}

// name looks at a name, and at the call that it may begin. It returns where to go on: behind the name, because there
// may be calls among the arguments.
func (s *scanner) name(at int) int {
	if lit, n := s.literal(at); n > 0 {
		if lit.command {
			s.start(Effect{Kind: Shell, Text: lit.text})
		}
		return at + n
	}
	end := at + 1
	for end < len(s.code) && (namePart(s.code[end]) || s.joins(end)) {
		end++
	}
	name := s.code[at:end]
	if strings.HasPrefix(name, "__import__") {
		if args, n := s.arguments(end); len(args) > 0 && args[0].known() {
			end += n + 1 // __import__("os").system is os.system
			for after := min(end, len(s.code)); end < len(s.code) && (namePart(s.code[end]) || s.joins(end)); {
				end++
				name = args[0].text + s.code[after:end]
			}
		}
	}
	if call := s.find(name); call != nil && end <= len(s.code) && !s.declared(at) {
		s.call(call, end)
	}
	return end
}

// joins reports whether the byte at i joins the parts of a name: a dot, or a part of "::" or "->".
func (s *scanner) joins(i int) bool {
	rest := s.code[i+1:]
	switch s.code[i] {
	case '.':
		return rest != "" && nameStart(rest[0])
	case ':':
		return strings.HasPrefix(rest, ":") || s.code[i-1] == ':'
	case '>':
		return s.code[i-1] == '-'
	case '-':
		return strings.HasPrefix(s.code[i:], "->") || s.language.Comments == ";"
	}
	return false
}

// find returns what the table says of a name.
func (s *scanner) find(name string) *Call {
	first, rest, dotted := strings.Cut(name, ".")
	if full, ok := s.imports[first]; ok {
		if name = full; dotted {
			name += "." + rest
		}
	}
	call := s.language.calls[name]
	if module := s.imports["*"]; call == nil && module != "" {
		call = s.language.calls[module+"."+name]
	}
	if call == nil && s.language.Last {
		call = s.language.calls[name[strings.LastIndexByte(name, '.')+1:]]
	}
	if call == nil || call.Needs != "" && !strings.Contains(s.code, call.Needs) {
		return nil
	}
	return call
}

// declared reports whether the name at i is being declared, not called, or is a method of something unknown.
func (s *scanner) declared(i int) bool {
	before := strings.TrimRight(s.code[:i], " \t")
	for _, word := range []string{"def", "function", "import", "sub", "fn"} {
		if strings.HasSuffix(before, word) && len(before) < i {
			return true
		}
	}
	return i > 0 && (s.code[i-1] == '.' || s.code[i-1] == '>' && strings.HasSuffix(s.code[:i], "->")) && !s.language.Last
}

// start adds the effect of a command that is started.
func (s *scanner) start(e Effect) {
	s.starts = true
	s.out = append(s.out, e)
}

func nameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c == '@'
}

func namePart(c byte) bool {
	return nameStart(c) && c != '@' || c >= '0' && c <= '9' || c == '!' || c == '*'
}
