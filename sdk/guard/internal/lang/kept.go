package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// The functions that do nothing with a string but look at it, change it, put it somewhere or show it.
var (
	// textual give something that is made of their arguments.
	textual = names(`replace replaceAll replaceFirst sub subn gsub tr str_replace str_ireplace preg_replace preg_match preg_quote split rsplit partition rpartition strip lstrip rstrip trim removeprefix removesuffix
		startswith endswith startsWith endsWith count find rfind index rindex indexOf lastIndexOf includes contains strpos str_contains str_starts_with str_ends_with search match fullmatch findall finditer
		matchAll compile escape test scan len str repr sorted set list tuple dict dumps stringify toString RegExp upper lower encode decode format render safe_substitute substitute pretty_generate generate to_json to_yaml to_s inspect json_encode print_r var_export center ljust rjust zfill`)
	// storing put their arguments into what they are a method of.
	storing = names(`append push add insert update extend setdefault unshift set`)
	// showing and putting do nothing further with their arguments, and writing neither with those behind the first.
	showing = names(`print puts p pp echo printf log info warn warning error debug`)
	putting = names(`write writelines write_text fwrite dump safe_dump exit assertIn assertNotIn assertEqual equal strictEqual deepEqual`)
	writing = names(`writeFileSync writeFile appendFileSync outputFileSync writeTextFileSync writeTextFile file_put_contents`)
	// looking are other members of texts, lists and tables by which nothing is opened.
	looking = names(`items keys values splitlines lines get pop copy join length size first last entries sort reverse slice index group groups groupdict start end span exec read write sections has_section add_section`)
	// conditions are words that a condition or a grouping stands behind.
	conditions = names(`if elif while unless until when case assert and or not in is return else switch`)

	packs      = pattern.New(`(?i)zipfile|tarfile|make_archive|archiver|adm-?zip|ziparchive|\bzip\b`)
	beingSet   = pattern.New(`(?:^|[^=!<>])=\s*$`)
	indexes    = pattern.New(`^(?:\[[^\[\]]*\])+`)
	iterated   = pattern.New(`\bfor\s*\(?\s*(?:const\s+|let\s+|var\s+)?([\w\s,()\[\]]+?)\s+(?:in|of)\s*$`)
	anyName    = pattern.New(`[A-Za-z_]\w*`)
	loopTarget = pattern.New(`\bfor\s*\(?\s*(?:const\s+|let\s+|var\s+)?[\w\s,(\[]*$`)
	loopList   = pattern.New(`^[\w\s,)\]]*?\s(?:in|of)\s+([A-Za-z_]\w*)?`)
	appended   = pattern.New(`"(\d+)"(?:\s*\+\s*[\w.()]+)*\s*\+\s*$`)
	memberOf   = pattern.New(`^\s*\.\s*([A-Za-z_]\w*)`)
	assigns    = pattern.New(`^\s*(?:(?:const|let|var|my|our|local)\s+)?[$@%]?([A-Za-z_]\w*)\s*(?:[.\[][^=]*)?(?:\+|\|\||\?\?)?=[^=>~]`)
	further    = pattern.New(`[^=!<>:]=[^=>~]`)
	assignedTo = pattern.New(`^\s*(?:[.\[][^=(),;\n]*)?(?:\+|\|\||\?\?)?=(?:[^=>~]|$)`)
	decides    = pattern.New(`^\s*(?:\}?\s*(?:if|elif|else if|assert|while|unless|when|case)\b)`)
)

// maxKept is how many variables are followed that hold a string.
const maxKept = 8

// kept says whether the string at a place of the code is only text there: looked for, put in the place of other text, written
// into a file, and never what a file is opened by.
func (s *skeleton) kept(language string, at int) bool {
	if language != "python" && language != "node" && language != "ruby" && language != "php" {
		return false
	}
	if !s.packing {
		if s.packing = true; packs.MatchString(s.code) {
			s.looked = maxLooked // what is written may be a file that goes into an archive
		}
	}
	if !s.looks(1) {
		return false
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
	for s.looks(at - s.statement(at) + maxTold) {
		if s.inURL(at) {
			return true
		}
		if m := iterated.FindStringSubmatch(s.code[max(0, at-maxTold):at]); m != nil {
			for _, target := range anyName.FindAllString(m[1]) {
				if !k.variable(target) {
					return false
				}
			}
			if m[0][0] == 'f' && s.enclosedBy(at) == "for" {
				return true // what the loop sets is followed
			}
		}
		if m := memberOf.FindStringSubmatch(s.code[end:min(len(s.code), end+maxTold)]); m != nil && !textual[m[1]] && !storing[m[1]] && !looking[m[1]] {
			return false // something is done with it
		}
		bracket, behindComma := s.enclosing(at)
		if bracket < 0 {
			return k.by(at, end, changed)
		}
		before := strings.TrimRight(s.code[:bracket], " \t")
		end = s.closing(bracket)
		s.looked += at - bracket + end - bracket
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
		case (name == "" || conditions[name]) && beingSet.MatchString(s.code[max(0, at-maxTold):at]):
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
		if at = start; name == "" || conditions[name] {
			at = bracket
			continue
		}
		if receiver != "" {
			at -= len(receiver) + 1
		}
	}
	return false // it takes too long to follow
}

// by says whether the statement, in no bracket of which a place stands, leaves it text.
func (k *keeping) by(at, end int, changed bool) bool {
	s := k.s
	statement := s.code[s.statement(at):]
	upTo := statement[:min(len(statement), at-s.statement(at)+1)] + " "
	if m := assigns.FindStringSubmatch(upTo); m != nil {
		if further.MatchString(upTo[len(m[0])-1:]) {
			return false // more than one variable is set
		}
		return k.variable(m[1])
	}
	if m := memberOf.FindStringSubmatch(s.code[end:min(len(s.code), end+maxTold)]); m != nil && looking[m[1]] {
		if before := strings.TrimSpace(statement[:at-s.statement(at)]); before == "" || before[len(before)-1] == ':' {
			return true // a method by which it goes nowhere
		}
	}
	if iterated.MatchString(statement[:at-s.statement(at)]) {
		return true // what the loop sets is followed
	}
	return decides.MatchString(statement) || changed && !strings.Contains(wordsOf(statement), "return") && !strings.Contains(wordsOf(statement), "for")
}

// variable says whether what a variable holds is only text wherever it stands.
func (k *keeping) variable(name string) bool {
	s := k.s
	if k.seen[name] {
		return true
	}
	if k.seen[name] = true; len(k.seen) > maxKept || !s.looks(2*len(s.code)) {
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
			if m := loopList.FindStringSubmatch(s.code[end:]); m != nil && loopTarget.MatchString(s.code[max(0, place-maxTold):place]) {
				if used = true; m[1] != "" && !k.variable(m[1]) {
					return false // what it is put into is part of that
				}
				continue
			}
			if used = true; !k.at(place, end) {
				return false
			}
		}
	}
	return used || len(k.seen) > 1
}

// stores says whether a statement begins at a place that only puts something into a variable.
func (s *skeleton) stores(place, end int) bool {
	m := memberOf.FindStringSubmatch(indexes.ReplaceAllString(s.code[end:min(len(s.code), end+maxTold)], ""))
	return m != nil && storing[m[1]] && strings.TrimSpace(s.code[s.statement(place):place]) == ""
}

// isPath says whether a method is one of a path of Python's pathlib, which moves the file: that of a variable, or of what ends code.
func (s *skeleton) isPath(receiver, before string) bool {
	if strings.Contains(receiver, "(") {
		return strings.Contains(receiver, "Path") && !strings.Contains(receiver, "read_text")
	}
	if receiver == "" {
		return strings.Contains(before[s.statement(len(before)):], "Path") && !strings.Contains(before[s.statement(len(before)):], "read_text")
	}
	if !s.looks(2 * len(s.code)) {
		return true
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

// inURL says whether a string is put behind one that begins an address.
func (s *skeleton) inURL(at int) bool {
	m := appended.FindStringSubmatch(s.code[max(0, at-maxTold):at])
	if m == nil {
		return false
	}
	text, _ := s.text(m[1])
	return strings.Contains(text, "://") && !strings.HasPrefix(text, "file:")
}
