package lang

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// The bounds of what is folded.
const (
	maxFolded    = 256      // times that strings are put together
	maxConstants = 16       // variables that are replaced
	maxConstant  = 16 << 10 // bytes of a string that others were put together to
)

var (
	plus        = pattern.New(`"(\d+)"\s*\+\s*"(\d+)"`)
	dot         = pattern.New(`"(\d+)"\s*\.\s*"(\d+)"`)
	dots        = pattern.New(`"(\d+)"\s*\.\.\s*"(\d+)"`)
	adjacent    = pattern.New(`"(\d+)"[ \t]*(?:\+|<<)?[ \t]*"(\d+)"`)
	constant    = pattern.New(`(?:^|[:;\n({}]|\b(?:const|let|var|my|our|local)\b)\s*\(?\s*([$@]?[A-Za-z_]\w*)\s*=\s*("\d+"|[\[(]\s*"\d+"(?:\s*,\s*"\d+")*\s*,?\s*[\])])`)
	aConstant   = pattern.New(`^(?:"|[\[(]\s*")`)
	aFunction   = pattern.New(`^(?:(?:os|subprocess|shutil|pty|io|child_process|commands|asyncio|ctypes)\b|(?:[\w.]+(?:\("\d+"\))?\.)?(?:exec|spawn|fork|rm|eval|system|__import__))`)
	member      = pattern.New(`([\w)\]])\s*\[\s*"(\d+)"\s*\]`)
	memberName  = pattern.New(`\[\s*"`)
	module      = pattern.New(`(?:\b__import__|\b(?:importlib|\w+)\.import_module|\bimport_module)\s*\(\s*"(\d+)"\s*\)|\bsys\.modules\s*(?:\[|\.\s*(?:get|pop|__getitem__)\s*\()\s*"(\d+)"\s*[\])]`)
	dictionary  = pattern.New(`(?:\bvars\s*\(\s*(\w+)\s*\)|\b(\w+)\s*\.\s*__dict__)\s*\[\s*"(\d+)"\s*\]`)
	evaluated   = pattern.New(`\beval\s*\(\s*"(\d+)"\s*\)\s*\(`)
	required    = pattern.New(`\brequire\s*\(?\s*"(\d+)"\s*\)?\s*([.:])`)
	attribute   = pattern.New(`\bgetattr\s*\(\s*([\w.]+)\s*,\s*"(\d+)"\s*(?:,[^()]*)?\)`)
	sent        = pattern.New(`\b(?:[\w:]+\s*\.\s*)*(?:send|public_send|__send__)\s*\(?\s*(?::(\w+)|"(\d+)")\s*,`)
	methodOf    = pattern.New(`\bmethod\s*\(\s*(?::(\w+)|"(\d+)")\s*\)\s*(?:\.\s*call|\.)\s*\(`)
	called      = pattern.New(`\b(?:call_user_func|call_user_func_array|forward_static_call|array_map|register_shutdown_function)\s*\(\s*"(\d+)"\s*,`)
	reached     = pattern.New(`&\s*\{?\s*"(\d+)"\s*\}?\s*\(|"(\d+)"\s*->\s*\(`)
	byName      = pattern.New(`\(\s*"(\d+)"\s*\)\s*\(|"(\d+)"\s*\(`)
	aliased     = pattern.New(`\b([A-Za-z_]\w*)\s*=\s*((?:os|subprocess|shutil|pty|io|child_process)\s*\.\s*\w+|[\w.]+(?:\("\d+"\))?\.(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|fork|rm|rmSync)|eval|exec|system|__import__)\s*(?:[;\n)}]|$)`)
	moduleAlias = pattern.New(`\b([A-Za-z_]\w*)\s*=\s*(os|subprocess|shutil|pty|commands|asyncio|ctypes)\s*(?:[;\n)}]|$)`)
	destructed  = pattern.New(`\{([^{}]*)\}\s*=\s*(?:await\s+import|require|fs|child_process)\b|\bimport\s*\{([^{}]*)\}\s*from\b`)
	taken       = pattern.New(`\{([^{}]*\b(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|fork)\s*:\s*[^{}]*)\}\s*\)?\s*=`)
	renamedTo   = pattern.New(`(\w+)\s*(?::|\bas\b)\s*(\w+)`)
	inlined     = pattern.New(`[$#]\{\s*['"]([^'"]*)['"]\s*\}`)
	// insertedArray is an array that Perl puts into a string.
	insertedArray = pattern.New(`(^|[\s"'(|;&])@\{?\s*\$?[A-Za-z_]\w*\}?`)
	insertedText  = pattern.New(`\{\s*['"]([^'"{}]*)['"]\s*\}`)
	reflected     = pattern.New(`\(?\s*\bnew\s+\\?ReflectionFunction\s*\(\s*"(\d+)"\s*\)\s*\)?\s*->\s*invoke(?:Args)?\s*\(`)
	viaModule     = pattern.New(`\b(?:subprocess|shutil|pathlib|glob|tempfile|posixpath|platform)\.os\.`)
	viaPrivate    = pattern.New(`\b\w+\._(os|shutil|subprocess)\.`)
	dunderCall    = pattern.New(`\.\s*__call__\s*\(`)
	optional      = pattern.New(`\?\.\s*([A-Za-z_(\[])`)
	identifier    = pattern.New(`^[A-Za-z_][\w.]*$`)
	// annotated is a variable of Python's that is set with its type, and blocks are the words that such a line begins with that sets none.
	annotated = pattern.New(`(^|[;\n])([ \t]*)([A-Za-z_]\w*)[ \t]*:[ \t]*[A-Za-z_"][\w.\[\], |"]*?[ \t]*=[ \t]*`)
	blocks    = names(`else try finally`)
	// namedDirectory is one by the name that Python has for it.
	namedDirectory = pattern.New(`\bos\s*\.\s*(?:path\s*\.\s*)?(pardir|curdir)\b`)
	// addsToItself is a list that is set to itself and something more, and addsKnown one of Python's that is added to by what a call or
	// a variable gives.
	addsToItself = pattern.New(`(^|[;\n{}])([ \t]*)([A-Za-z_]\w*)[ \t]*=[ \t]*([A-Za-z_]\w*)[ \t]*\+[ \t]*(\[|[A-Za-z_])`)
	addsSome     = pattern.New(`(^|[;\n])([ \t]*)([A-Za-z_]\w*)[ \t]*\+=[ \t]*([A-Za-z_][\w.]*(?:\([^()\n]*\)|\[[^\[\]\n]*\])?)[ \t]*(\n|$)`)
)

// fold puts strings together that the code puts together, puts constants in the place of their variables, and calls by their
// plain names what is called in a roundabout way.
func (s *skeleton) fold(language string) {
	if language == "node" {
		s.replace(optional, func(m []string) string {
			if m[1] == "(" || m[1] == "[" {
				return m[1]
			}
			return "." + m[1]
		})
	}
	if language == "python" {
		if namedDirectory.MatchString(s.worth(namedDirectory)) {
			s.replace(namedDirectory, func(m []string) string {
				return s.literal(map[string]string{"pardir": "..", "curdir": "."}[m[1]], m[0])
			})
		}
		if strings.Contains(s.code, ":") {
			s.replace(annotated, func(m []string) string {
				if blocks[m[3]] {
					return m[0]
				}
				return m[1] + m[2] + m[3] + " = "
			})
		}
		s.replace(addsToItself, func(m []string) string {
			if m[3] != m[4] {
				return m[0]
			}
			return m[1] + m[2] + m[3] + " += " + m[5]
		})
		s.replace(addsSome, func(m []string) string {
			if !strings.Contains(s.code, m[3]+" = [") {
				return m[0]
			}
			return m[1] + m[2] + m[3] + ".extend(" + m[4] + ")" + m[5]
		})
		for at, l := range s.references() {
			if l.raw && at > 0 && s.code[at-1]|0x20 == 'f' && strings.Contains(l.text, "{") {
				s.literals[s.number(at)].text = insertedText.ReplaceAllString(l.text, "${1}")
			}
		}
	}
	if language == "node" || language == "ruby" {
		for i, l := range s.literals {
			if l.template || language == "ruby" {
				s.literals[i].text = inlined.ReplaceAllString(l.text, "${1}")
			}
		}
	}
	s.made(language)
	s.concatenate(language)
	s.format(language)
	if s.constants(language) {
		s.made(language)
		s.concatenate(language)
		s.format(language)
	}
	s.based()
	name := func(form string, groups ...int) func([]string) string {
		return func(m []string) string {
			for _, g := range groups {
				if text := s.identifier(m[g]); text != "" {
					return strings.NewReplacer("#", text, "%", m[1]).Replace(form)
				}
			}
			return m[0]
		}
	}
	switch language {
	case "python":
		s.replace(viaModule, func([]string) string { return "os." })
		s.replace(viaPrivate, func(m []string) string { return m[1] + "." })
		s.replace(bracketedName, func(m []string) string { return m[1] + "." })
		s.replace(dunderCall, func([]string) string { return "(" })
		s.replace(module, name("#", 1, 2))
		s.replace(attribute, name("%.#", 2))
		s.replace(dictionary, func(m []string) string {
			if text := s.identifier(m[3]); text != "" {
				return m[1] + m[2] + "." + text
			}
			return m[0]
		})
		s.replace(evaluated, name("#(", 1))
	case "lua":
		s.replace(required, func(m []string) string { return s.identifier(m[1]) + m[2] })
		fallthrough
	case "node":
		for n := 0; n < 2 && memberName.MatchString(s.code); n++ { // one may stand behind the other
			s.replace(member, name("%.#", 2))
		}
		s.replace(evaluated, name("#(", 1))
	case "ruby":
		s.replace(sent, name("#(", 1, 2))
		s.replace(methodOf, name("#(", 1, 2))
	case "perl":
		s.replace(reached, name("#(", 1, 2))
		for i, l := range s.literals {
			if l.raw || l.tick {
				s.literals[i].text = insertedArray.ReplaceAllString(l.text, "${1}"+shell.Item)
			}
		}
	case "php":
		s.replace(reflected, name("#(", 1))
		s.replace(called, name("#(", 1))
		s.replace(byName, name("#(", 1, 2))
	}
	if language == "python" {
		s.withoutInsertions()
	}
	if s.aliases(language); language == "python" {
		s.replace(module, name("#", 1, 2)) // that were found by another name
	}
}

// withoutInsertions takes the letter from strings of Python that says that something is put into them, where all of that is known.
func (s *skeleton) withoutInsertions() {
	var b strings.Builder
	done := 0
	for at, l := range s.references() {
		if at > 0 && s.code[at-1]|0x20 == 'f' && (at == 1 || !wordByte(s.code[at-2])) && !strings.ContainsAny(l.text, "{}") {
			b.WriteString(s.code[done : at-1])
			done = at
		}
	}
	if done > 0 {
		s.code, s.pairs = b.String()+s.code[done:], nil
	}
}

// number is that of the string at a place.
func (s *skeleton) number(at int) int {
	n, _ := strconv.Atoi(s.code[at+1 : at+1+strings.IndexByte(s.code[at+1:], '"')])
	return n
}

// replace replaces the matches of a pattern by what a function makes of their groups.
func (s *skeleton) replace(p *pattern.Pattern, by func([]string) string) {
	all := p.FindAllStringSubmatchIndex(s.worth(p))
	if all == nil {
		return
	}
	var b strings.Builder
	done := 0
	for _, m := range all {
		b.WriteString(s.code[done:m[0]])
		b.WriteString(by(pattern.Groups(s.code, m)))
		done = m[1]
	}
	b.WriteString(s.code[done:])
	s.code, s.pairs = b.String(), nil
}

// text is a string of the code by its number; false if it isn't a constant.
func (s *skeleton) text(number string) (string, bool) {
	n, err := strconv.Atoi(number)
	if err != nil || n >= len(s.literals) || s.literals[n].tick && !s.literals[n].template || s.literals[n].regex {
		return "", false
	}
	return s.literals[n].text, true
}

// identifier is the name that a string of the code, or a word in it, is; "" if it is none.
func (s *skeleton) identifier(word string) string {
	if text, ok := s.text(word); ok {
		word = text
	}
	if at := strings.LastIndex(word, "::"); at >= 0 {
		word = word[at+2:]
	}
	if !identifier.MatchString(word) {
		return ""
	}
	return word
}

// sign is how a language puts strings together: a pattern of two that are, and what stands behind the first one then.
type sign struct {
	pattern *pattern.Pattern
	begins  string
}

// signs are those of the languages that don't do it with a plus.
var signs = map[string]sign{"python": {adjacent, `"+<`}, "ruby": {adjacent, `"+<`}, "perl": {dot, "."}, "php": {dot, "."}, "lua": {dots, "."}}

// concatenate puts strings together.
func (s *skeleton) concatenate(language string) {
	sign, ok := signs[language]
	if !ok {
		sign.pattern, sign.begins = plus, "+"
	}
	for n := 0; n < maxFolded && s.goesOn(sign.begins); n++ {
		before := s.code
		s.replace(sign.pattern, func(m []string) string {
			left, ok := s.text(m[1])
			right, too := s.text(m[2])
			if !ok || !too || len(left)+len(right) > maxConstant {
				return m[0]
			}
			s.literals = append(s.literals, literal{text: left + right})
			return `"` + strconv.Itoa(len(s.literals)-1) + `"`
		})
		if s.code == before {
			return
		}
	}
}

// goesOn says whether one of some characters stands behind a string.
func (s *skeleton) goesOn(begins string) bool {
	code := s.code
	for {
		at := strings.IndexByte(code, '"') // of a string, which is digits between two of them
		if at < 0 {
			return false
		}
		code = code[at+1:]
		if behind := strings.TrimLeft(code, " \t\n\v\f\r"); behind != "" && strings.IndexByte(begins, behind[0]) >= 0 {
			return true
		}
	}
}

// constants puts the strings, and the lists of strings, in the place of the variables that are set to them and to nothing else.
func (s *skeleton) constants(language string) bool {
	if !s.setTo(aConstant) {
		return false
	}
	found := constant.FindAllStringSubmatch(s.code)
	changed := false
	for i, m := range found {
		name, value := m[1], m[2]
		at := strings.Index(s.code, m[0]) + len(m[0])
		if i == maxConstants || at < len(m[0]) {
			break
		}
		if !endsHere(s.code[at:]) {
			continue
		}
		if !s.setOnce(name) && !s.leadsUp(value) || s.altered(language, name) {
			continue
		}
		if value[0] != '"' {
			grown, ok := s.grown(name, value)
			if value = grown; !ok || !s.unchanged(name) {
				continue
			}
			if language == "perl" && name[0] == '@' {
				s.interpolateList(name, value)
			}
		}
		rest := substitute(s.code[at:], name, func(string) (string, bool) { return value, true })
		if text, ok := s.text(strings.Trim(value, `"`)); ok {
			s.interpolate(language, strings.TrimLeft(name, "$@"), text)
		}
		s.code, s.pairs, changed = s.code[:at]+rest, nil, true
	}
	return changed
}

// endsHere says whether what stands behind a value can't change it any more.
func endsHere(behind string) bool {
	behind = strings.TrimLeft(behind, " \t\v\f\r")
	return behind == "" || strings.IndexByte(";\n)}", behind[0]) >= 0
}

// leadsUp says whether a value is a path to the directory above, or into it: of several that a variable is set to, that one counts.
func (s *skeleton) leadsUp(value string) bool {
	text, ok := s.text(strings.Trim(value, `"`))
	return ok && (text == ".." || strings.HasPrefix(text, "../") || strings.HasSuffix(text, "/.."))
}

// interpolate puts a constant in the place of its variable within strings.
func (s *skeleton) interpolate(language, name, value string) {
	marks := map[string][]string{"perl": {"${" + name + "}", "$" + name}, "php": {"{$" + name + "}", "${" + name + "}", "$" + name}, "ruby": {"#{" + name + "}"}, "node": {"${" + name + "}"}, "python": {"{" + name + "}"}}
	for i, l := range s.literals {
		if !l.raw && !l.tick {
			continue
		}
		for _, mark := range marks[language] {
			if len(l.text) < maxConstant {
				l.text = strings.ReplaceAll(l.text, mark, value)
			}
		}
		s.literals[i] = l
	}
}

// interpolateList puts the words of a list in the place of its variable within strings of Perl.
func (s *skeleton) interpolateList(name, list string) {
	var words []string
	for _, l := range s.referenced(list) {
		words = append(words, l.text)
	}
	for i, l := range s.literals {
		if l.raw && len(l.text) < maxConstant && strings.Contains(l.text, name) {
			s.literals[i].text = strings.ReplaceAll(l.text, name, strings.Join(words, " "))
		}
	}
}

// aliases calls functions by their own names that the code has given other ones.
func (s *skeleton) aliases(language string) {
	renamed := 0
	if s.setTo(aFunction) {
		for _, m := range aliased.FindAllStringSubmatch(s.code) {
			if target := strings.Join(strings.Fields(m[2]), ""); renamed < maxRenamed && m[1] != target {
				s.renameCall(m[1], target[strings.LastIndexByte(target, ')')+1:])
				renamed++
			}
		}
		for _, m := range moduleAlias.FindAllStringSubmatch(s.code) {
			if renamed < maxRenamed && m[1] != m[2] {
				s.renameModule(m[1], m[2])
				renamed++
			}
		}
	}
	if language != "node" {
		return
	}
	lists := destructed.FindAllStringSubmatch(s.worth(destructed))
	for _, m := range taken.FindAllStringSubmatch(s.worth(taken)) {
		lists = append(lists, []string{m[0], m[1], ""})
	}
	for _, m := range lists {
		for _, pair := range renamedTo.FindAllStringSubmatch(m[1] + m[2]) {
			if renamed < maxRenamed {
				s.renameCall(pair[2], pair[1])
				renamed++
			}
		}
	}
}
