package inline

import "strings"

// callScanner finds function calls with effects in code, in one pass.
type callScanner struct {
	language      *LanguageTable
	code          string
	depth         int
	imports       map[string]string // full names by the names the code uses
	argumentBytes int               // length of all arguments read so far
	effects       []CodeEffect

	changesDir    bool // the code changes its working directory
	startsCommand bool // the code starts a command or redirects a file descriptor
	callsFork     bool
	opensSocket   bool
}

// collectCallEffects adds the effects of all calls outside comments and strings.
func (s *callScanner) collectCallEffects() {
	for i := 0; i < len(s.code); {
		c := s.code[i]
		switch {
		case s.startsComment(i):
			for i < len(s.code) && s.code[i] != '\n' {
				i++
			}
		case strings.HasPrefix(s.code[i:], "/*") && strings.Contains(s.language.Comments, "//"):
			end := strings.Index(s.code[i+2:], "*/")
			if end < 0 {
				return
			}
			i += end + 4
		case c == '`' && s.language.Backticks:
			text, n := readQuotedString(s.code[i:], '`')
			s.addProcessStartEffect(CodeEffect{Kind: Shell, Text: s.maskInterpolations(text)})
			i += n
		case isNameStart(c) || c == '%' && s.language.QuoteOperators:
			i = s.scanNameAndCall(i)
		default:
			if _, n := s.readStringLiteral(i); n > 0 {
				i += n
				continue
			}
			i++
		}
	}
}

// startsComment reports whether a comment begins at i. A "#" inside a word begins none.
func (s *callScanner) startsComment(i int) bool {
	for mark := range strings.FieldsSeq(s.language.Comments) {
		if strings.HasPrefix(s.code[i:], mark) {
			return mark != "#" || i == 0 || strings.IndexByte(" \t\n;{}()", s.code[i-1]) >= 0
		}
	}
	return false
}

// scanNameAndCall checks the name at a position and adds the effects if it is a call. It returns the position after the
// name, because arguments may contain calls.
func (s *callScanner) scanNameAndCall(at int) int {
	if lit, n := s.readStringLiteral(at); n > 0 {
		if lit.isCommand {
			s.addProcessStartEffect(CodeEffect{Kind: Shell, Text: lit.text})
		}
		return at + n
	}
	end := at + 1
	for end < len(s.code) && (isNamePart(s.code[end]) || s.joinsNameParts(end)) {
		end++
	}
	name := s.code[at:end]
	if strings.HasPrefix(name, "__import__") {
		if args, n := s.readCallArguments(end); len(args) > 0 && args[0].isLiteral() {
			end += n + 1 // __import__("os").system is os.system
			for nameEnd := min(end, len(s.code)); end < len(s.code) && (isNamePart(s.code[end]) || s.joinsNameParts(end)); {
				end++
				name = args[0].text + s.code[nameEnd:end]
			}
		}
	}
	if call := s.findCallRule(name); call != nil && end <= len(s.code) && !s.isDeclarationOrMethod(at) {
		s.addCallEffects(call, end)
	}
	return end
}

// joinsNameParts reports whether the byte at i joins parts of a name: a dot, or a byte of "::" or "->".
func (s *callScanner) joinsNameParts(i int) bool {
	rest := s.code[i+1:]
	switch s.code[i] {
	case '.':
		return rest != "" && isNameStart(rest[0])
	case ':':
		return strings.HasPrefix(rest, ":") || s.code[i-1] == ':'
	case '>':
		return s.code[i-1] == '-'
	case '-':
		return strings.HasPrefix(s.code[i:], "->") || s.language.Comments == ";"
	}
	return false
}

// findCallRule returns the rule for a function name, or nil.
func (s *callScanner) findCallRule(name string) *CallEffectRule {
	first, rest, dotted := strings.Cut(name, ".")
	if fullName, ok := s.imports[first]; ok {
		if name = fullName; dotted {
			name += "." + rest
		}
	}
	call := s.language.callsByName[name]
	if module := s.imports["*"]; call == nil && module != "" {
		call = s.language.callsByName[module+"."+name]
	}
	if call == nil && s.language.MatchLastPart {
		call = s.language.callsByName[name[strings.LastIndexByte(name, '.')+1:]]
	}
	if call == nil || call.RequiredCode != "" && !strings.Contains(s.code, call.RequiredCode) {
		return nil
	}
	return call
}

// isDeclarationOrMethod reports whether the name at i is declared or imported, or is a method of an unknown value.
func (s *callScanner) isDeclarationOrMethod(i int) bool {
	before := strings.TrimRight(s.code[:i], " \t")
	for _, word := range []string{"def", "function", "import", "sub", "fn"} {
		if strings.HasSuffix(before, word) && len(before) < i {
			return true
		}
	}
	return i > 0 && (s.code[i-1] == '.' || s.code[i-1] == '>' && strings.HasSuffix(s.code[:i], "->")) && !s.language.MatchLastPart
}

func (s *callScanner) addProcessStartEffect(e CodeEffect) {
	s.startsCommand = true
	s.effects = append(s.effects, e)
}

func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c == '@'
}

func isNamePart(c byte) bool {
	return isNameStart(c) && c != '@' || c >= '0' && c <= '9' || c == '!' || c == '*'
}
