package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// firstVariable is the variable in arguments that names a program.
var firstVariable = pattern.New(`[$@]?[A-Za-z_]\w*`)

// byVariable are the effects of a call that starts a program which a variable may name, by the effect that it has by its arguments alone: what
// is put in the place of that comes first.
func (s *skeleton) byVariable(e Effect, args string) []Effect {
	if e.Kind != Argv || !variableFirst.MatchString(args) && !variableNext.MatchString(args) {
		return []Effect{e}
	}
	name := firstVariable.FindString(args)
	if s.assembled(name) {
		return []Effect{{Kind: Dynamic, Text: startsUnknown}}
	}
	out := append([]Effect{e}, s.programs(e.Argv)...)
	for _, list := range s.listsOf(name) {
		var argv []string
		for _, l := range s.referenced(list) {
			argv = append(argv, l.text)
		}
		out = append(out, Effect{Kind: Argv, Argv: append(argv, e.Argv...)})
	}
	return out
}

// listsOf are the lists that a variable is set to.
func (s *skeleton) listsOf(name string) (lists []string) {
	for place := range places(s.code, name) {
		if end := place + len(name); plainlySet.MatchString(s.code[end:]) && len(lists) < maxPrograms {
			if value, _ := s.value(end); strings.HasPrefix(strings.TrimSpace(value), "[") {
				lists = append(lists, value)
			}
		}
	}
	return lists
}

// elementAgain is what stands behind a list one of whose elements is set.
var elementAgain = pattern.New(`^\s*\[[^\[\]]*\]\s*=(?:[^=]|$)`)

// assembles is an expression that makes strings of others.
var assembles = pattern.New(`[+%]|\[\s*-?\d*\s*:|"\d+"\s*\.|\.\s*(?:join|decode|format|replace|partition|split|lower|upper|swapcase|title|sub|dedent|loads|reverse|map|concat|slice|charAt|toString)\s*\(|\b(?:chr|bytes|bytearray|repr|eval|next|lambda|max|min|reduce|fromCharCode|atob|b64decode|parse|unescape|decodeURI\w*|unquote\w*)\b|\bdict\s*\(|\}\s*\[|\]\s*\[`)

// assemblesPerl is the same of Perl.
var assemblesPerl = pattern.New(`\b(?:substr|lc|uc|lcfirst|ucfirst|join|sprintf|reverse|chr|pack|split|map|grep|sort|eval|qx|readpipe|delete|each|values|do)\b|\.\s*["$@]|"\s*\.|=~|"\s*x\s*\d|<\$?\w*>|[)\]}]\s*(?:->\s*)?\[|\$\d|\*\w`)

// reads is an expression that is what something prints or what a file holds.
var reads = pattern.New(`\b(?:getoutput|check_output|popen|execSync|execFileSync|spawnSync|readline|readlines|readFileSync|read|input|stdout)\b`)

// assembled says whether a variable may hold a string that the code makes of others, or reads.
func (s *skeleton) assembled(name string) bool {
	by := assembles
	switch s.language {
	case "python", "node":
	case "perl":
		by = assemblesPerl
	default:
		return false
	}
	if name == "" || !s.looks(len(s.code)) || s.altered(s.language, name) {
		return true // a sign names it, or it takes too long to follow
	}
	for place := range places(s.code, name) {
		end := place + len(name)
		if s.language == "perl" && place > 0 && s.code[place-1] == '*' {
			return true // it becomes another variable
		}
		if elementAgain.MatchString(s.code[end:]) {
			return true
		}
		if !plainlySet.MatchString(s.code[end:]) && (s.language != "perl" || !sets(s.code[end:])) {
			continue
		}
		value, _ := s.value(end)
		if ref := reference.FindStringSubmatch(value); ref != nil && s.isOutput(ref[1]) {
			return true
		}
		if strings.HasPrefix(strings.TrimSpace(value), "[") && !s.unchanged(name) || by.MatchString(value) || reads.MatchString(value) && !strings.Contains(s.expand(value), "which") {
			return true
		}
	}
	return s.assignedByText(name)
}

// waitMode is the argument of os.spawn* that says what to wait for.
var waitMode = pattern.New(`\b(?:os\.)?P_\w+\s*,\s*`)

// maxPrograms is how many strings are taken for the name of a program that a variable names.
const maxPrograms = 64

// programs are the commands that a call may start if a variable names the program: that may be each name that the code has.
func (s *skeleton) programs(args []string) (out []Effect) {
	taken := map[string]bool{}
	for _, l := range s.literals {
		if taken[l.text] || !programName.MatchString(l.text) {
			continue
		}
		if taken[l.text] = true; len(taken) > maxPrograms {
			return append(out, Effect{Kind: Dynamic, Text: startsUnknown})
		}
		out = append(out, Effect{Kind: Argv, Argv: append([]string{l.text}, args...)})
	}
	return out
}
