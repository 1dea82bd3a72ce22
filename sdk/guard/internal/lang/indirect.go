package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Functions that start commands may be kept somewhere, or found by their names, and called where it doesn't show. Then each string of
// the code that may be a command counts as one, and so does each list of strings.

var (
	// reflects find members of things by their names, or all of them.
	reflects = pattern.New(`\b(?:attrgetter|methodcaller|getattr|__getattribute__|__getitem__|__dict__|getmembers|vars|dir|CDLL|PyDLL|LoadLibrary|cdll|pythonapi|dlsym)\b`)
	// allOf are the members of what starts commands in Node, of which one is chosen by code.
	allOf = pattern.New(`(?:\b(?:Object|Reflect)\s*\.\s*\w+\s*\(|\b(?:in|of)\s)\s*require\s*\(\s*"\d+"\s*\)|\brequire\s*\(\s*"\d+"\s*\)\s*\[\s*[^"\s]`)
	// stored is where a function that starts commands becomes an element or a member of something.
	stored = pattern.New(`(?:\b(?:(?:os|posix)\.(?:system|popen|exec\w+|spawn\w+)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|shutil\.rmtree)|\.(?:execSync|spawnSync|execFileSync|execFile|exec|spawn)|\b(?:execSync|spawnSync|execFileSync|execFile|spawn|exec))(?:\s*(?:[\])},;\n]|$)|\s+(?:if|or|and|else)\b)`)
	// obscures is what strings are made with that aren't put together.
	obscures = pattern.New(`\b(?:chr|fromhex|b64decode|unhexlify|zip|ord|maketrans|fromCharCode|atob|pack)\b|\bBuffer\.from\b`)
	// lists are lists of strings.
	lists = pattern.New(`[\[(]\s*"\d+"(?:\s*,\s*"\d+")+\s*,?\s*[\])]`)
	// plainly is what a name is set to that stands for the function itself.
	plainly = pattern.New(`=\s*(?:require\s*\(\s*"\d+"\s*\)|[\w.]*)$`)
	// importing is what stands before a name that is imported.
	importing = pattern.New(`\bfrom\s+\w+\s+import\s+(?:[\w .,]*|\([\w .,\n]*)$`)
	// keeps is a statement that puts something somewhere.
	keeps = pattern.New(`^\s*(?:(?:const|let|var|return|yield|class\b[^:]*:)\s*)?[\w.\[\]{}"*,: ]*(?:=|:|\breturn\b|\byield\b)`)
)

// starters are the names of functions that start commands, as strings that they are found by.
var starters = names("system popen execl execlp execv execvp execve spawnl spawnlp spawnv spawnvp posix_spawn run call check_call check_output Popen getoutput getstatusoutput rmtree")

// indirect adds what the strings of code would do as commands, if functions that start some are called where it doesn't show.
func (s *skeleton) indirect(language string, out *[]Effect) {
	switch language {
	case "python":
		if !s.keptFunction() && !s.reflected() {
			return
		}
	case "node":
		if !strings.Contains(s.all(), "child_process") || !s.keptFunction() && !allOf.MatchString(s.worth(allOf)) {
			return
		}
	default:
		return
	}
	seen := s.withoutShown()
	if obscures.MatchString(seen.worth(obscures)) || seen.composes() {
		*out = append(*out, Effect{Kind: Dynamic, Text: "a function that starts commands is called with what is only known when it runs"})
	}
	for _, l := range seen.references() {
		if commandLike(l.text) && (strings.Contains(l.text, "\n") || shell.Parses(l.text)) {
			*out = append(*out, Effect{Kind: Shell, Text: l.text})
		}
		if l.text == "rmtree" {
			*out = append(*out, Effect{Kind: Delete, Text: "rmtree"})
		}
	}
	for _, list := range lists.FindAllString(seen.worth(lists)) {
		var argv []string
		for _, l := range s.referenced(list) {
			argv = append(argv, l.text)
		}
		*out = append(*out, Effect{Kind: Argv, Argv: argv})
	}
}

// onlyShows is what stands before what is only printed, and showsOtherwise where what prints is made something else, or may be.
var (
	onlyShows      = pattern.New(`(?:^|[^\w.])(?:print|console\s*\.\s*(?:log|error|warn|info)|logging\s*\.\s*(?:debug|info|warning|error))\s*\(`)
	showsOtherwise = pattern.New(`\b(?:print|console|logging)\s*(?:(?:\.\s*\w+|\[[^\]]*\])\s*)*(?:=[^=]|:=)|\b(?:builtins|__builtins__|setattr|globals|defineProperty|Reflect|Proxy)\b|\bassign\s*\(\s*console|\bas\s+(?:print|logging)\b|\b(?:def|function|class)\s+(?:print|logging|console)\b|\bfor\b[^;\n]*\b(?:print|console|logging)\b[^;\n]*\b(?:in|of)\b|\bmock\b|[{,]\s*console\b`)
)

// withoutShown is the code without what it only prints, if that is what such functions do in it and it calls nothing there.
func (s *skeleton) withoutShown() *skeleton {
	seen := &skeleton{language: s.language, code: s.code, literals: s.literals}
	if showsOtherwise.MatchString(s.code) {
		return seen
	}
	var b strings.Builder
	done := 0
	for _, m := range onlyShows.FindAllStringIndex(s.worth(onlyShows)) {
		if m[1] <= done {
			continue
		}
		shown := s.region(m[1] - 1)
		calls := strings.Contains(shown[1:], "(") || slices.ContainsFunc(s.referenced(shown), func(l literal) bool {
			return (l.template || s.language == "python") && strings.Contains(l.text, "{") && strings.Contains(l.text, "(")
		})
		if !calls {
			b.WriteString(s.code[done:m[1]])
			done = m[1] - 1 + len(shown)
			b.WriteString(")")
		}
	}
	b.WriteString(s.code[done:])
	seen.code = b.String()
	return seen
}

// composing is where code puts strings together, or takes them apart, in a way that isn't followed.
var composing = pattern.New(`"\d+"\s*\)*\s*(?:[+%]|\.\s*(?:format|join|replace|split|partition|rpartition|lower|upper|strip|concat|slice|at|toLowerCase)\b|\[)|\+\s*[fF]?"\d+"|\.\s*concat\s*\(|\]\s*\.\s*join\b`)

// composes says whether strings are put together in the code of something that isn't known.
func (s *skeleton) composes() bool {
	if composing.MatchString(s.worth(composing)) {
		return true
	}
	for at, l := range s.references() {
		if l.template && l.tick && strings.Contains(l.text, "${") || s.language == "python" && at > 0 && s.code[at-1]|0x20 == 'f' && strings.Contains(l.text, "{") {
			return true
		}
	}
	return false
}

// reflected says whether code finds things by their names, and has the name of a function that starts commands.
func (s *skeleton) reflected() bool {
	if !reflects.MatchString(s.worth(reflects)) {
		return false
	}
	for _, l := range s.literals {
		if starters[l.text] {
			return true
		}
	}
	return false
}

// keptFunction says whether a function that starts commands is put somewhere that isn't followed: into a list, a table, a member. By
// a plain name of its own it is followed.
func (s *skeleton) keptFunction() bool {
	for _, m := range stored.FindAllStringIndex(s.worth(stored)) {
		if s.destructures(m[0]) || s.language == "python" && importing.MatchString(s.code[max(0, m[0]-maxTold):m[0]]) {
			continue
		}
		if bracket, _ := s.enclosing(m[0]); bracket >= 0 && (s.code[bracket] == '[' || s.code[bracket] == '{' && !block(s.code[:bracket])) {
			return true
		}
		start := s.outermost(m[0])
		statement := s.code[start:m[0]]
		if !keeps.MatchString(statement) {
			end := start + strings.IndexAny(s.code[start:]+"\n", ";\n")
			if !strings.Contains(s.code[start:end], `"`) || s.givenToOwn(m[0]) {
				return true // what it is called with stands elsewhere
			}
			continue
		}
		name := assigns.FindStringSubmatch(statement + "x ")
		if name == nil || !plainly.MatchString(statement) || s.elsewhere(name[1]) {
			return true
		}
	}
	return false
}

// givenToOwn says whether what stands at a place is given to a function that the code defines or sets itself.
func (s *skeleton) givenToOwn(at int) bool {
	bracket, _ := s.enclosing(at)
	if bracket < 0 {
		return false
	}
	_, name := callee(s.code[:bracket])
	if name == "" {
		return true
	}
	for place := range mentions(s.code, name) {
		if sets(s.code[place+len(name):]) {
			return true
		}
	}
	return s.replaced(name) || slices.ContainsFunc(s.functions(), func(f function) bool { return f.name == name })
}

// outermost is where the statement begins that a place is in, whatever brackets it stands in.
func (s *skeleton) outermost(at int) int {
	for at > 0 && s.code[at-1] != ';' && s.code[at-1] != '\n' {
		at--
	}
	return at
}

// elsewhere says whether a name stands for something where it isn't called: it is given on, or a member.
func (s *skeleton) elsewhere(name string) bool {
	times := 0
	for at := range mentions(s.code, name) {
		behind := strings.TrimLeft(s.code[at+len(name):], " \t")
		if strings.HasSuffix(s.code[:at], "subprocess.") || strings.HasSuffix(s.code[:at], "os.") {
			continue // a function of the module's
		}
		if at > 0 && s.code[at-1] == '.' || !strings.HasPrefix(behind, "(") {
			times++
		}
	}
	return times > 1 // besides where it is set
}
