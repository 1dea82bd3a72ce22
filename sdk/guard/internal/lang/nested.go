package lang

import (
	"net/url"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// How deep code may stand in strings of code, and how many bytes all of it may have: each counts for so many besides, by how deep it stands.
const (
	maxScripts = 8
	maxNested  = 48 << 10
	perScript  = 32
)

var (
	// interprets are calls that run a string as code of the same language.
	interprets = pattern.New(`\b(?:timeit\.(?:timeit|repeat|Timer)|(?:cProfile|profile|pdb)\.run\w*|(?:Bdb|Trace)\s*\([^()]*\)\s*\.\s*run\w*|runsource|runcode|run_line_magic|exec|eval|Function|(?:Worker|Script)\)?|constructor|compileFunction|_compile|runInThisContext|runInNewContext|runInContext|load|loadstring|instance_eval|class_eval)\s*(?:\(|")`)
	consoles   = pattern.New(`\.push\s*\(`)
	console    = pattern.New(`\bInteractive(?:Interpreter|Console)\b`)
	// passed are functions that start a command where they are handed to something else that calls them.
	passed = pattern.New(`\b(?:(?:os|posix)\.(?:system|popen|exec\w+|spawn\w+)|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|shutil\.rmtree)(?:\s*[,)\]}]|\s+(?:if|or|and|else)\b)|\b(?:methodcaller|subprocess_shell|subprocess_exec|GenericBrowser|BackgroundBrowser|webbrowser\.get|pipepager|tempfilepager)\s*\(`)
	// handedOn are the same in Node and in Ruby.
	handedOn = pattern.New(`(?:\.(?:execSync|spawnSync|execFileSync|execFile|exec|spawn)|\b(?:execSync|spawnSync|execFileSync|execFile))\s*(?:[,)]|\.\s*(?:call|apply|bind)\b)`)
	// calledBy is the call of a function by its own methods, behind its name.
	calledBy = pattern.New(`^[\w.]+\s*\.\s*(?:call|apply|bind)\s*\(`)
	// eachBy are methods that call a function which is handed to them with what they are a method of.
	eachBy  = names(`then map forEach flatMap some every filter find findIndex reduce`)
	taking  = pattern.New(`^\s*(?:=[^=>]|from\b)`)
	methods = pattern.New(`\bmethod\s*\(\s*:(?:system|exec|spawn)\s*\)`)
	// foreignCalls load a library of the system, the functions of which are called by their names.
	foreignCalls = pattern.New(`\b(?:cdll|pythonapi|CDLL|PyDLL|WinDLL|LoadLibrary|dlopen)\b`)
	onlyString   = pattern.New(`^\(?\s*"\d+"\s*\)?$`)
	// withNamespace is a string as the argument of a call of Python's, and what the code in it finds its names in: nothing else counts.
	withNamespace = pattern.New(`^\(\s*"\d+"(?:\s*,\s*(?:\{\s*\}|dict\s*\(\s*\)|globals\s*\(\s*\)|locals\s*\(\s*\)|[A-Za-z_]\w*)){1,2}\s*\)$`)
	systemCalls   = pattern.New(`\.(?:system|popen|execl\w*|execv\w*|posix_spawnp?)\s*\(`)
)

// nested adds what code in strings does, and what functions do that others call.
func (s *skeleton) nested(language string, depth int, out *[]Effect) {
	code := func(m []int) {
		if *s.left < 0 {
			return // that it is too much is said already
		}
		for _, l := range s.referenced(s.region(m[1] - 1)) {
			if *s.left < 0 {
				break
			}
			*out = append(*out, script(language, l.text, depth+1, s.left, false)...)
		}
	}
	for _, m := range interprets.FindAllStringIndex(s.worth(interprets)) {
		code(m)
	}
	if console.MatchString(s.worth(console)) {
		for _, m := range consoles.FindAllStringIndex(s.code) {
			code(m)
		}
	}
	s.interpolated(language, depth, out)
	s.indirect(language, out)
	if language == "node" {
		for _, l := range s.literals {
			if _, code, ok := strings.Cut(l.text, "data:text/javascript"); ok {
				if unescaped, err := url.PathUnescape(code[strings.IndexByte(code, ',')+1:]); err == nil {
					*out = append(*out, script(language, unescaped, depth+1, s.left, false)...)
				}
			}
		}
	}
	functions := map[string]*pattern.Pattern{"python": passed, "ruby": methods}[language]
	if language == "node" && strings.Contains(s.all(), "child_process") {
		functions = handedOn
		s.byName(out)
	}
	if functions != nil {
		end := 0
		for _, m := range functions.FindAllStringIndex(s.worth(functions)) {
			if m[0] >= end && !s.destructures(m[0]) { // one statement is looked at once
				end = s.handed(m[0], out)
			}
		}
	}
	if foreignCalls.MatchString(s.worth(foreignCalls)) {
		for _, m := range systemCalls.FindAllStringIndex(s.code) {
			*out = append(*out, s.command(s.region(m[1]-1)))
		}
	}
}

// byName adds every string of code that names a function which starts commands: it may reach that by its name.
func (s *skeleton) byName(out *[]Effect) {
	names := func(l literal) bool {
		switch l.text {
		case "exec", "execSync", "execFile", "execFileSync", "spawn", "spawnSync":
			return true
		}
		return false
	}
	if !slices.ContainsFunc(s.literals, names) {
		return
	}
	for _, l := range s.literals {
		if !names(l) {
			*out = append(*out, Effect{Kind: Shell, Text: l.text})
		}
	}
}

// isConstant says whether the arguments of a call are one string that the code has.
func (s *skeleton) isConstant(at int) bool {
	args := s.region(at)
	return onlyString.MatchString(args) || s.language == "python" && withNamespace.MatchString(args) && !s.keptFunction()
}

// interpolated adds what code does that stands within strings: #{…} in Ruby, @{[…]} in Perl, ${…} in JavaScript, {…} in Python.
func (s *skeleton) interpolated(language string, depth int, out *[]Effect) {
	mark := map[string]string{"ruby": "#{", "perl": "@{", "node": "${", "python": "{"}[language]
	if mark == "" {
		return
	}
	var calls strings.Builder
	for at, l := range s.references() {
		formatted := at > 0 && s.code[at-1]|0x20 == 'f'
		if !strings.Contains(l.text, mark) || language == "node" && !l.template || language == "python" && !formatted || !l.raw && !l.tick {
			continue
		}
		rest := l.text
		for n := 0; n < maxScripts; n++ {
			_, after, ok := strings.Cut(rest, mark)
			if !ok {
				break
			}
			body := bracketed("{" + after)
			switch rest = after[min(len(after), len(body)):]; {
			case !strings.ContainsAny(body, "(`\"' "):
			case simple(body):
				calls.WriteString(body)
				calls.WriteByte('\n')
			default:
				*out = append(*out, script(language, strings.Trim(body, "[]"), depth+1, s.left, false)...)
			}
		}
	}
	if calls.Len() > 0 {
		*out = append(*out, script(language, calls.String(), depth+1, s.left, false)...)
	}
}

// simple says whether code has nothing in it that would change what other code behind it is: no strings, comments, or open brackets.
func simple(code string) bool {
	depth := 0
	for i := range len(code) {
		switch c := code[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		case !wordByte(c) && strings.IndexByte(" ,.+-*<>", c) < 0:
			return false
		}
	}
	return depth == 0
}

// handed adds the commands that stand among the other arguments where a function is handed on, and returns where the statement
// ends.
func (s *skeleton) handed(at int, out *[]Effect) int {
	end := at
	for end < len(s.code) && s.code[end] != '\n' && s.code[end] != ';' {
		end++
	}
	var argv []string
	for _, l := range s.referenced(s.code[strings.LastIndexAny(s.code[:at], ";\n")+1 : end]) {
		if l.text == "child_process" || l.text == "node:child_process" {
			continue
		}
		argv = append(argv, l.text)
		*out = append(*out, Effect{Kind: Shell, Text: l.text})
	}
	if len(argv) > 1 {
		*out = append(*out, Effect{Kind: Argv, Argv: argv})
	}
	if obscures.MatchString(s.worth(obscures)) || !s.given(at, out) {
		*out = append(*out, Effect{Kind: Dynamic, Text: "it hands on a function that starts commands, and what it is called with is only known when it runs"})
	}
	return end
}

// argumentsOf is what the arguments of a function that is handed on are called, and option any other name of an argument.
var (
	argumentsOf = pattern.New(`^(?:args|initargs)\s*=\s*`)
	option      = pattern.New(`^\w+\s*=[^=]`)
)

// given adds the commands that a function starts which is handed on at a place, as far as they aren't plain strings, and says whether they are
// known: they stand behind it in the same brackets.
func (s *skeleton) given(at int, out *[]Effect) bool {
	bracket, _ := s.enclosing(at)
	if m := calledBy.FindString(s.code[at:]); m != "" {
		bracket = at + len(m) - 1
	}
	if bracket < 0 || strings.HasPrefix(s.code[at:], "shutil") {
		return true
	}
	list := s.code[bracket:s.closing(bracket)]
	if !s.looks(len(list)) {
		return false
	}
	if receiver, method := callee(strings.TrimRight(s.code[:bracket], " \t")); s.language == "node" && eachBy[method] && receiver != "" && !s.startsEach(receiver, out, 0) {
		return false
	}
	if rest := s.code[bracket+len(list):]; strings.HasPrefix(rest, "(") { // what the call gives is called
		if elements := elementsOf(rest[:closingIn(rest)]); len(elements) > 0 && !s.startsEach(strings.TrimSpace(elements[0]), out, 0) {
			return false
		}
	}
	behind := bracket + 1
	for _, element := range elementsOf(list) {
		from := behind
		behind += len(element) + 1
		argument := strings.TrimSpace(element)
		if m := argumentsOf.FindString(argument); m != "" {
			if elements := elementsOf(argument[len(m):]); len(elements) > 0 {
				argument = strings.TrimSpace(elements[0])
			}
		} else if from <= at || option.MatchString(argument) {
			continue
		}
		if !s.startsEach(argument, out, 0) {
			return false
		}
	}
	return true
}

// destructures says whether a place is where functions are taken out of a module: { execSync } = …
func (s *skeleton) destructures(at int) bool {
	bracket, _ := s.enclosing(at)
	if bracket < 0 || s.code[bracket] != '{' {
		return false
	}
	return taking.MatchString(s.code[s.closing(bracket):]) || wordBefore(s.code[:bracket]) == "import"
}

// startsEach adds the command that an expression is, or each in a list of such, and says whether they are known.
func (s *skeleton) startsEach(expression string, out *[]Effect, depth int) bool {
	if inStart.MatchString(reference.ReplaceAllString(expression, "")) || depth > maxHere {
		return depth <= maxHere // nothing but strings: each counts already
	}
	if (expression[0] == '[' || expression[0] == '(') && closingIn(expression) == len(expression) && !ofEach.MatchString(expression) {
		for _, element := range elementsOf(expression) {
			if element = strings.TrimSpace(element); element != "" && !s.startsEach(element, out, depth+1) {
				return false
			}
			if expression[0] == '[' && depth > 0 {
				break // the others are arguments
			}
		}
		return true
	}
	args := "(" + expression + ")"
	e := s.command(args)
	if e.Kind != Dynamic {
		*out = append(*out, e)
		return true
	}
	effects, ok := s.handedTo(args)
	*out = append(*out, effects...)
	return ok
}
