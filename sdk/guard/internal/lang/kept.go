package lang

import (
	"regexp"
	"strings"
)

// The functions that do nothing with a string but look at it, change it, put it somewhere or show it.
var (
	// textual give something that is made of their arguments.
	textual = names(`replace replaceAll replaceFirst sub subn gsub tr str_replace str_ireplace preg_replace preg_match preg_quote split rsplit partition rpartition strip lstrip rstrip trim removeprefix removesuffix
		startswith endswith startsWith endsWith count find rfind index rindex indexOf lastIndexOf includes contains strpos str_contains str_starts_with str_ends_with search match fullmatch findall finditer
		matchAll compile escape test scan len str repr sorted set list tuple dict dumps stringify toString RegExp upper lower encode decode format center ljust rjust zfill`)
	// storing put their arguments into what they are a method of.
	storing = names(`append push add insert update extend setdefault unshift set`)
	// showing and putting do nothing further with their arguments, and writing neither with those behind the first.
	showing = names(`print puts p pp echo printf log info warn warning error debug`)
	putting = names(`write writelines write_text fwrite dump safe_dump exit assertIn assertNotIn assertEqual equal strictEqual deepEqual`)
	writing = names(`writeFileSync writeFile appendFileSync outputFileSync writeTextFileSync writeTextFile file_put_contents`)
	// looking are other members of texts, lists and tables by which nothing is opened.
	looking = names(`items keys values splitlines lines get pop copy join length size first last entries sort reverse slice index`)
	// conditions are words that a condition or a grouping stands behind.
	conditions = names(`if elif while unless until when case assert and or not in is return else switch`)

	packs      = regexp.MustCompile(`(?i)zipfile|tarfile|make_archive|archiver|adm-?zip|ziparchive|\bzip\b`)
	beingSet   = regexp.MustCompile(`(?:^|[^=!<>])=\s*$`)
	indexes    = regexp.MustCompile(`^(?:\[[^\[\]]*\])+`)
	memberOf   = regexp.MustCompile(`^\s*\.\s*([A-Za-z_]\w*)`)
	assigns    = regexp.MustCompile(`^\s*(?:(?:const|let|var|my|our|local)\s+)?[$@%]?([A-Za-z_]\w*)\s*(?:[.\[][^=]*)?(?:\+|\|\||\?\?)?=[^=>~]`)
	further    = regexp.MustCompile(`[^=!<>:]=[^=>~]`)
	assignedTo = regexp.MustCompile(`^\s*(?:[.\[][^=();\n]*)?(?:\+|\|\||\?\?)?=(?:[^=>~]|$)`)
	decides    = regexp.MustCompile(`^\s*(?:\}?\s*(?:if|elif|else if|assert|while|unless|when|case)\b)`)
)

// maxKept is how many variables are followed that hold a string.
const maxKept = 8

// kept says whether the string at a place of the code is only text there: looked for, put in the place of other text, written
// into a file, and never what a file is opened by.
func (s *skeleton) kept(language string, at int) bool {
	if language != "python" && language != "node" && language != "ruby" && language != "php" {
		return false
	}
	if packs.MatchString(s.code) {
		return false // a file that is written into an archive
	}
	end := at + 2 + strings.IndexByte(s.code[at+1:], '"')
	k := keeping{s: s, mark: s.code[at:end], seen: map[string]bool{}}
	return k.at(at, end)
}

// keeping follows one string through the code.
type keeping struct {
	s    *skeleton
	mark string          // of the string, as it stands in the code
	seen map[string]bool // the variables that hold it
}

// at says whether what stands between two places is only text.
func (k *keeping) at(at, end int) bool {
	s := k.s
	if word := wordBefore(s.code[:at]); word != "" && !conditions[word] && !showing[word] {
		return false // the argument of a call without brackets
	}
	changed := false
	for {
		if m := memberOf.FindStringSubmatch(s.code[end:min(len(s.code), end+maxTold)]); m != nil && !textual[m[1]] && !storing[m[1]] && !looking[m[1]] {
			return false // something is done with it
		}
		bracket, behindComma := s.enclosing(at)
		if bracket < 0 {
			return k.by(at, changed)
		}
		before := strings.TrimRight(s.code[:bracket], " \t")
		end = s.closing(bracket)
		if s.code[bracket] != '(' {
			at = bracket
			if word := wordBefore(before); s.code[bracket] == '[' || word == "" || conditions[word] {
				continue
			}
			return false
		}
		receiver, name := callee(before)
		start := len(before) - len(name)
		name = strings.TrimRight(name, "!?")
		switch {
		case (name == "" || conditions[name]) && beingSet.MatchString(s.code[:at]):
			return false // a variable is set in an expression
		case name == "" || conditions[name]:
		case receiver == "path" || receiver == "os.path" || receiver == "File" && name != "write" || receiver == "Dir" || receiver == "shutil" || receiver == "glob" || receiver == "os" || receiver == "Find",
			name == "replace" && s.isPath(receiver, before):
			return false
		case textual[name] && (receiver == "" || !storing[name]), name == "join" && receiver == "" && strings.HasSuffix(before, `".join`):
			changed = true
		case storing[name]:
			variable, _, _ := strings.Cut(receiver, ".")
			variable, _, _ = strings.Cut(variable, "[")
			return variable != "" && k.variable(variable)
		case (writing[name] || name == "write" && (receiver == "File" || receiver == "IO" || receiver == "Bun" || receiver == "os")) && behindComma, (putting[name] || showing[name] && (changed || len(k.seen) > 0 || s.code[at] != '"')) && receiver != "File" && receiver != "IO" && receiver != "Bun":
			return true
		default:
			return false
		}
		at = start
		if receiver != "" {
			at -= len(receiver) + 1
		}
	}
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

// by says whether the statement, in no bracket of which a place stands, leaves it text.
func (k *keeping) by(at int, changed bool) bool {
	s := k.s
	statement := s.code[s.statement(at):]
	upTo := statement[:min(len(statement), at-s.statement(at)+1)] + " "
	if m := assigns.FindStringSubmatch(upTo); m != nil {
		if further.MatchString(upTo[len(m[0])-1:]) {
			return false // more than one variable is set
		}
		return k.variable(m[1])
	}
	return decides.MatchString(statement) || changed && !strings.Contains(wordsOf(statement), "return") && !strings.Contains(wordsOf(statement), "for")
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

// variable says whether what a variable holds is only text wherever it stands.
func (k *keeping) variable(name string) bool {
	s := k.s
	if k.seen[name] {
		return true
	}
	if k.seen[name] = true; len(k.seen) > maxKept {
		return false
	}
	for _, l := range s.literals {
		if (l.raw || l.template) && (strings.Contains(l.text, "{"+name) || strings.Contains(l.text, "$"+name)) {
			return false
		}
	}
	used := strings.Count(s.code, k.mark) > 1         // or the string stands where the variable did
	for _, name := range []string{name, "$" + name} { // as PHP has it
		for place := range places(s.code, name) {
			end := place + len(name)
			if assignedTo.MatchString(s.code[end:]) || s.stores(place, end) {
				continue
			}
			if used = true; !k.at(place, end) {
				return false
			}
		}
	}
	return used
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
		case c == ']' && i < len(code):
			if open := strings.LastIndexByte(code[:i], '['); open >= 0 {
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

// stores says whether a statement begins at a place that only puts something into a variable.
func (s *skeleton) stores(place, end int) bool {
	m := memberOf.FindStringSubmatch(indexes.ReplaceAllString(s.code[end:min(len(s.code), end+maxTold)], ""))
	return m != nil && storing[m[1]] && strings.TrimSpace(s.code[s.statement(place):place]) == ""
}

// isPath says whether a method is one of a path of Python's pathlib, which moves the file: that of a variable, or of what ends code.
func (s *skeleton) isPath(receiver, before string) bool {
	if receiver == "" {
		return strings.Contains(before[s.statement(len(before)):], "Path") && !strings.Contains(before[s.statement(len(before)):], "read_text")
	}
	for place := range places(s.code, receiver) {
		if rest := s.code[place:]; assignedTo.MatchString(rest[len(receiver):]) {
			line, _, _ := strings.Cut(rest, "\n")
			line, _, _ = strings.Cut(line, ";")
			if strings.Contains(line, "Path") && !strings.Contains(line, "read_text") {
				return true
			}
		}
	}
	return false
}
