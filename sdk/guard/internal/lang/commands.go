package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// How much of the arguments of calls that start commands is read: each call counts for as many bytes as perStart besides.
const (
	maxStarted = 128 << 10
	perStart   = 256
)

// commands finds the commands that are started. It says whether there are any.
func (s *skeleton) commands(language string, out *[]Effect) bool {
	found, started := false, 0
	for _, l := range s.literals {
		if l.tick && language != "node" && language != "python" && language != "lua" && language != "go" {
			text := l.text
			switch language {
			case "perl":
				text = interpolations.ReplaceAllString(text, shell.Unknown)
			case "ruby":
				text = withInsertions(text)
			}
			*out = append(*out, Effect{Kind: Shell, Text: text})
			found = true
		}
	}
	for _, m := range lisps.FindAllStringIndex(s.worth(lisps)) {
		*out = append(*out, s.command(s.region(m[0])))
		found = true
	}
	found = s.statements(language, out) || found
	for _, m := range pipes.FindAllStringSubmatchIndex(s.worth(pipes)) {
		region := s.region(m[1])
		at := reference.FindAllStringIndex(region)
		for i, l := range s.referenced(region) {
			if mode := strings.TrimSpace(l.text); mode == "-|" || mode == "|-" {
				args := "[" + strings.TrimLeft(region[at[i][1]:], " \t\n,")
				*out = append(*out, s.byVariable(s.command(args), args)...)
				found = true
				break
			}
			if command := strings.Trim(l.text, " \t"); strings.HasPrefix(command, "|") || strings.HasSuffix(command, "|") {
				*out = append(*out, Effect{Kind: Shell, Text: strings.Trim(command, "| "), Fed: strings.HasPrefix(command, "|")})
				found = true
			}
		}
	}
	children := language == "node" && strings.Contains(s.all(), "child_process")
	for _, m := range starts.FindAllStringSubmatchIndex(s.worth(starts)) {
		name := s.code[m[2]:m[3]]
		before := s.code[:m[2]]
		switch {
		case strings.HasPrefix(name, "subprocess.") && strings.Trim(name[11:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "":
			continue // subprocess.PIPE
		case language == "node" && (name == "exec" || name == "spawn") && !children:
			continue // RegExp.exec
		case language == "node" && name == "exec" && s.matches(before):
			continue
		case strings.HasSuffix(before, "platform."), strings.HasSuffix(before, "def "), strings.HasSuffix(before, "function "), strings.HasSuffix(before, "import "):
			continue
		case language == "ruby" && strings.HasSuffix(before, ":") && !strings.HasSuffix(before, "::"):
			continue // a symbol
		case language == "php" && name == "exec" && strings.HasSuffix(before, "->") && databases.MatchString(s.code):
			continue // gives SQL to a database
		case name == "exec" && language == "python":
			continue // runs Python, not a command
		case name == "shell" && language != "other":
			continue // an argument's name
		case strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "child_process.") && !strings.HasSuffix(before, "].") && !strings.HasSuffix(before, ").") && name == "system" && language != "other":
			continue
		}
		rest := s.code[m[1]:]
		if !strings.HasPrefix(rest, "(") && language != "perl" && language != "ruby" && (language != "other" && language != "lua" || !strings.HasPrefix(rest, `"`)) && name != "qx" && name != "do shell script" {
			continue
		}
		found = true
		args := s.region(m[1])
		if language == "perl" && (name == "open2" || name == "open3") {
			args = withoutHandles(args, int(name[4]-'0'))
		}
		if language == "python" && strings.Contains(args, "args") {
			args = argsByName.ReplaceAllString(args, "$1")
		}
		if strings.Contains(args, "P_") {
			args = waitMode.ReplaceAllString(args, "")
		}
		if started += len(args) + perStart; started > maxStarted {
			*out = append(*out, Effect{Kind: Dynamic, Text: "it starts more commands than are followed"})
			break
		}
		e := s.command(args)
		dir := s.startsIn(m[1], args)
		if strings.Contains(s.code, "chdir") {
			dir = s.under(language, m[2], dir)
		}
		if e.Kind == Argv && (variableFirst.MatchString(args) || (strings.HasPrefix(name, "os.") || language == "perl" || language == "ruby") && variableNext.MatchString(args)) {
			may := s.byVariable(e, args)
			for _, e := range may[1:] {
				*out = append(*out, e.in(dir))
			}
			e = may[0]
		}
		effects, ok := []Effect{e}, true
		switch {
		case e.Kind == Dynamic:
			effects, ok = s.startsHeld(args)
		case e.Kind == Argv && slices.Contains(e.Argv, shell.Unknown), e.Kind == Shell && placesIn[language] != nil && (strings.Contains(e.Text, shell.Item) || strings.Contains(e.Text, shell.Unknown)):
			effects, ok = s.valued(args, maxValued)
		}
		if !ok {
			if effects = []Effect{e}; e.Kind == Argv && len(e.Argv) > 1 && takesCode[shell.Name(e.Argv[0])] && e.Argv[1] == shell.Unknown && (givesList.MatchString(args) || language == "node" && listBehind.MatchString(args)) {
				effects[0] = Effect{Kind: Dynamic, Text: "it starts " + shell.Name(e.Argv[0]) + " with code that is only known when it runs"}
			}
		}
		for _, e := range append(effects, s.withOptions(effects)...) {
			if e.unknown() {
				e.Within = s.uncalled(m[2])
			}
			*out = append(*out, e.in(dir))
		}
	}
	return found
}

// argsByName is where Python gives a command by the name of its parameter.
var argsByName = pattern.New(`^(\(\s*)args\s*=\s*`)

// startsHeld are the effects of a call whose arguments begin with a variable. False if it isn't known what that may hold.
func (s *skeleton) startsHeld(args string) ([]Effect, bool) {
	elements := elementsOf(args)
	given := len(elements) > 1 && (s.heldName(elements[1]) != "" || strings.HasPrefix(strings.TrimSpace(elements[1]), "[")) // the arguments of the program
	if given {
		if effects, ok := s.valued(args, maxValued); ok {
			return effects, true
		}
	}
	if effects, ok := s.handedTo(keyword.ReplaceAllString(args, "")); ok {
		if given {
			for i, e := range effects { // the program's name is known, and that it gets arguments
				if e.Kind == Shell && e.Text != "" && !strings.ContainsAny(e.Text, " \t\n") {
					effects[i] = Effect{Kind: Argv, Argv: []string{e.Text, shell.Unknown}}
				}
			}
		}
		return effects, true
	}
	return s.valued(args, maxValued)
}

// interpreters are programs that get code as an argument.
var interpreters = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "fish": true, "python": true, "python3": true, "perl": true, "ruby": true, "node": true, "php": true}

// command is the effect of a call that starts a command with these arguments. An interpreter that gets no code by them gets it
// from the code that starts it.
func (s *skeleton) command(args string) Effect {
	e := s.starting(args)
	switch {
	case e.Kind == Shell:
		e.Fed = bareInterpreter(strings.Fields(e.Text))
	case e.Kind == Argv && bareInterpreter(e.Argv):
		e.Fed, e.Argv = true, e.Argv[:1]
	}
	return e
}

// bareInterpreter says whether a command is an interpreter that runs what it reads.
func bareInterpreter(argv []string) bool {
	if len(argv) == 0 || !interpreters[shell.Name(argv[0])] {
		return false
	}
	for i, arg := range argv[1:] {
		// Modes, signals and the like stand behind the command in the same call.
		if arg != "-" && arg != "-s" && arg != "-i" && (i > 0 || len(arg) > 2 || strings.Trim(arg, "rwb+") != "") {
			return false
		}
	}
	return true
}

// beginsWithString are arguments of which the first begins with a string.
var beginsWithString = pattern.New(`^[\s(]*[fF]?[rR]?"`)

// startsUnknown says what a call does of which the command isn't known.
const startsUnknown = "it starts a command that is only known when it runs"

// starting is the effect of such a call by its arguments alone.
func (s *skeleton) starting(args string) Effect {
	args = noKeywords.ReplaceAllString(keyword.ReplaceAllString(s.withoutOptions(args), ""), "")
	if s.language == "python" {
		args = asText.ReplaceAllStringFunc(args, s.plainPath)
	}
	other := ""
	if m := executable.FindStringSubmatch(args); m != nil {
		args = executable.ReplaceAllString(args, "")
		other, _ = s.text(m[1])
	}
	words := reference.FindAllStringSubmatch(args)
	rest := reference.ReplaceAllString(args, "")
	var argv []string
	for _, w := range words {
		n, _ := strconv.Atoi(w[1])
		switch {
		case !s.isOutput(w[1]):
			l := s.literals[n]
			text := l.text
			switch {
			case s.language == "ruby":
				text = withInsertions(text)
			case l.template && l.tick:
				text = withMarks(text)
			}
			argv = append(argv, text)
		case len(argv) == 0:
			return Effect{Kind: Dynamic, Text: "it starts what a command prints"}
		default:
			argv = append(argv, shell.Unknown)
		}
	}
	if len(argv) > 1 && argv[0] == argv[1] {
		argv = argv[1:] // the program, and the name that it is told
	}
	if other != "" && len(argv) > 0 {
		argv[0] = other
	}
	constant := inStart.MatchString(rest)
	switch {
	case len(argv) == 0 || computed.MatchString(args) || !constant && s.computes(args, 0) || s.language == "perl" && strings.Contains(args, "=~"):
		return Effect{Kind: Dynamic, Text: startsUnknown}
	case strings.Contains(rest, "[") || strings.Contains(rest, ","):
		if !constant {
			parts := s.parts(args)
			if strings.Contains(parts[0], " ") {
				return Effect{Kind: Shell, Text: parts[0]}
			}
			if parts[0] == shell.Item && beginsWithString.MatchString(args) {
				return Effect{Kind: Dynamic, Text: startsUnknown}
			}
			argv = inOrder(argv, parts)
		}
		if strings.Contains(argv[0], " ") {
			return Effect{Kind: Shell, Text: argv[0]}
		}
		if strings.Count(rest, "(") > 1 && interpreters[shell.Name(argv[0])] && !s.runsFile(args) {
			return Effect{Kind: Dynamic, Text: "it starts " + shell.Name(argv[0]) + " with code that is only known when it runs"}
		}
		return Effect{Kind: Argv, Argv: argv}
	case !constant:
		switch text := s.parts(args)[0]; {
		case text == shell.Item && beginsWithString.MatchString(args):
			return Effect{Kind: Dynamic, Text: startsUnknown}
		case strings.Contains(text, shell.Item) && text != shell.Item:
			return Effect{Kind: Shell, Text: text}
		}
		return Effect{Kind: Shell, Text: strings.Join(argv, shell.Unknown) + shell.Unknown}
	}
	return Effect{Kind: Shell, Text: strings.Join(argv, "")}
}

// asText is a variable whose text is an argument.
var asText = pattern.New(`\b(?:str|os\.fspath)\(\s*([A-Za-z_]\w*)\s*\)`)

// listsFiles is a loop of Python's over files, up to what says so, without the variable.
var listsFiles = pattern.New(`\bfor\s+(\w+)\s+in\s+[^\n:]*\.(?:r?glob|iterdir)\s*\(`)

// plainPath is the variable whose text is taken, str(x), if loops over files set it and nothing else does.
func (s *skeleton) plainPath(text string) string {
	name := asText.FindStringSubmatch(text)[1]
	found := false
	for _, m := range listsFiles.FindAllStringSubmatch(s.worth(listsFiles)) {
		found = found || m[1] == name
	}
	if !found || !s.looks(2*len(s.code)) || s.setOtherwise(name) {
		return text
	}
	for place := range places(s.code, name) {
		before := s.code[max(0, place-maxTold):place]
		if sets(s.code[place+len(name):]) || loopBegins.MatchString(before) && !listsFiles.MatchString(s.code[max(0, place-len("for ")-maxTold):min(len(s.code), place+maxTold)]) {
			return text
		}
	}
	return name
}

// optionally are arguments of Python's that are no part of a command.
var optionally = pattern.New(`^\s*(?:input|env|cwd|stdin|stdout|stderr)\s*=[^=]`)

// callback is a function of Node's that is called when the command has ended.
var callback = pattern.New(`^\s*(?:async\s*)?(?:\([^()]*\)\s*=>|\w+\s*=>|function\b)`)

// withoutOptions are the arguments of a call without those that say how the command is started, and what it is given.
func (s *skeleton) withoutOptions(args string) string {
	if args == "" || args[0] != '(' || s.language != "python" && s.language != "node" || !strings.ContainsAny(args, "={") {
		return args
	}
	var plain []string
	for i, element := range elementsOf(args) {
		if s.language == "python" && optionally.MatchString(element) || s.language == "node" && i > 0 && (strings.HasPrefix(strings.TrimSpace(element), "{") && !strings.Contains(element, "args") || callback.MatchString(element)) {
			continue
		}
		plain = append(plain, element)
	}
	return "(" + strings.Join(plain, ",") + ")"
}

// databases are classes of PHP for databases.
var databases = pattern.New(`\bnew\s+\\?(?:PDO|SQLite3)\b`)

// plainFirst are arguments that begin with two constants or three.
var plainFirst = pattern.New(`^[\s\[(]*"\d+"\s*,\s*"(\d+)"\s*(?:[\])]|,(?:\s*"(\d+)"\s*[,\])])?)`)

// runsFile says whether the arguments for an interpreter begin with a file, or a module of Python's, so that what follows is for that.
func (s *skeleton) runsFile(args string) bool {
	m := plainFirst.FindStringSubmatch(args)
	if m == nil {
		return false
	}
	first, ok := s.text(m[1])
	if ok && first == "-m" && m[2] != "" {
		first, ok = s.text(m[2])
	}
	return ok && first != "" && first[0] != '-'
}

// inOrder are the words of a command with marks where one isn't known. If that is the program, the words that are known come first.
func inOrder(words, parts []string) []string {
	if parts[0] == "" || strings.HasPrefix(parts[0], shell.Item) || parts[0] != words[0] {
		return append(words, shell.Unknown)
	}
	argv := make([]string, 0, len(parts)+1)
	for _, part := range parts {
		if part == shell.Item {
			part = shell.Unknown
		} else if strings.Contains(part, shell.Item) && !strings.Contains(part, " ") {
			return append(words, shell.Unknown) // a name of the arguments, or what is done with them
		}
		argv = append(argv, part)
	}
	return append(argv, shell.Unknown)
}
