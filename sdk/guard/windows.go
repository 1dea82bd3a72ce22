package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// The bounds of what is followed of Windows shells: how deep they may start each other, how many commands, and how many words
// these may have in all.
const (
	maxWindowsNesting = 8
	maxWindowsSteps   = 1024
	maxWindowsWords   = 24 << 10
)

// windowsRun follows the commands of a text for a Windows shell, one after the other.
type windowsRun struct {
	*analysis
	c       *shell.Call
	depth   int               // how many directories below the one that it starts in
	dir     string            // the same as a path
	stack   []int             // of pushd
	fetched map[string]bool   // the names of files that came from elsewhere
	written map[string]string // what echo has written into files, by their names
}

// windowsText decides on a text that a Windows shell will run.
func (a *analysis) windowsText(language, text string) {
	c := &shell.Call{Place: shell.Place{Span: shell.Span{End: len(text), Line: 1, Column: 1}}}
	a.windowsLine(c, language, text)
}

// windowsLine decides on code for cmd.exe or PowerShell.
func (a *analysis) windowsLine(c *shell.Call, language, line string) {
	r := &windowsRun{analysis: a, c: c, dir: a.dir, fetched: map[string]bool{}, written: map[string]string{}}
	a.nested++
	r.code(language, line, a.nested)
	a.nested--
}

func (r *windowsRun) code(language, line string, nesting int) {
	if strings.Contains(line, shell.Unknown) {
		r.hard(r.c, "exec.dynamic", "the code is encoded, or only known when it runs")
		return
	}
	split := windows.Cmd
	if language == "powershell" {
		split = windows.PowerShell
	}
	for _, command := range split(line) {
		r.command(language, command, nesting)
	}
}

// command decides on one simple command of a Windows shell.
func (r *windowsRun) command(language string, command windows.Command, nesting int) {
	r.steps++
	if r.words += len(command.Argv); nesting > maxWindowsNesting || r.steps > maxWindowsSteps || r.words > maxWindowsWords {
		r.hard(r.c, "exec.too-complex", "too many commands, or code within code within code, to follow")
		return
	}
	argv := command.Argv
	if command.Dynamic {
		r.hard(r.c, "exec.dynamic", "which program runs is only known when it runs")
		return
	}
	name := shell.Name(argv[0])
	if argv[0] == "%comspec%" || argv[0] == "%ComSpec%" || argv[0] == "%COMSPEC%" {
		name = "cmd"
	}
	if language == "powershell" {
		name = windows.Canonical(name)
		r.expression(argv)
	}
	name = programs.Canonical(name)
	defer r.paths(language, name, command)
	r.download(name, argv)
	r.batch(name, command, nesting)
	switch {
	case name == "wsl":
		r.subsystem(argv[1:])
		return
	case name == "start-process":
		r.start(argv[1:], nesting)
	case !windows.Own(language, name) && programs.Known(name):
		r.elsewhere(argv)
		return
	}
	r.judgeWindows(name, command)
	if plain := programs.Canonical(shell.Name(argv[0])); !windows.Names[plain] && programs.Known(plain) && !slices.ContainsFunc(argv[1:], func(word string) bool { return strings.HasPrefix(word, "/") }) {
		r.elsewhere(argv) // other systems have a program of this name
	} else if plain != name {
		r.judgeWindows(plain, command) // as have older PowerShells
	}
	fields := make([]shell.Field, len(argv)-1)
	for i, word := range argv[1:] {
		fields[i] = shell.Field{Text: word}
	}
	for _, use := range programs.Uses(new(programs.Memory), name, fields, argv[1:]) {
		switch {
		case use.Kind == programs.Code && (use.Lang == "cmd" || use.Lang == "powershell"):
			r.code(use.Lang, use.Text, nesting+1)
		case use.Kind == programs.Script && r.written[shell.Name(use.Text)] != "":
			r.code(use.Lang, r.written[shell.Name(use.Text)], nesting+1)
		case use.Kind == programs.Script && r.fetched[shell.Name(use.Text)]:
			r.soft(r.c, Deny, "exec.download-run", "it runs what another command has just fetched", saferSaved)
		case use.Kind == programs.Input && command.Piped && (use.Lang == "cmd" || use.Lang == "powershell"):
			r.soft(r.c, Deny, "exec.pipe-to-shell", "it runs what another command prints", saferSaved)
		}
	}
}

// judgeWindows applies the rules.
func (r *windowsRun) judgeWindows(name string, command windows.Command) {
	if !r.rules {
		return
	}
	via := []string(nil)
	if command.Piped {
		via = []string{"xargs"} // a cmdlet works on everything that it gets
	}
	for _, rule := range rules.Find(rules.New(name, command.Argv[1:], via)) {
		r.apply(r.c, rule, name, command.Argv)
	}
}

// expression looks at words of PowerShell that are no command: what they call may run code.
func (r *windowsRun) expression(argv []string) {
	for _, word := range argv {
		if reaches := windows.Reaches(word); reaches != "" {
			r.hard(r.c, "exec.windows-code", reaches+" runs code, or reaches what does")
		}
	}
}

// spoken are commands whose arguments are text.
var spoken = map[string]bool{"echo": true, "rem": true, "title": true, "write-output": true, "write-host": true, "write-error": true, "write-verbose": true, "write-warning": true, "throw": true}

// paths decides on the paths of a command, and follows where it goes.
func (r *windowsRun) paths(language, name string, command windows.Command) {
	if !r.analysis.paths {
		return
	}
	words := slices.Clone(command.Files)
	if !spoken[name] {
		words = append(words, command.Argv...)
	}
	cmdlet := language == "powershell" && windows.Cmdlet(name)
	for i, word := range words {
		registry := name == "reg" && strings.HasPrefix(strings.ToLower(word), "hk")
		rooted := cmdlet && i >= len(command.Files) && (strings.HasPrefix(word, "/") || word == "~" || strings.HasPrefix(word, "~/"))
		if !registry && (rooted || windows.Outside(word, r.depth)) {
			r.refuse(&r.c.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: command.Argv})
		}
	}
	switch name {
	case "pushd", "push-location":
		r.stack = append(r.stack, r.depth)
		fallthrough
	case "cd", "chdir", "set-location":
		for _, word := range command.Argv[1:] {
			if !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "-") {
				r.depth = max(0, windows.Depth(word, r.depth))
				r.dir += "/" + strings.ReplaceAll(word, `\`, "/")
				break
			}
		}
	case "popd", "pop-location":
		if n := len(r.stack); n > 0 {
			r.depth, r.stack = r.stack[n-1], r.stack[:n-1]
		}
	}
}

// download remembers the files that a command fetches, and refuses to run one of them.
func (r *windowsRun) download(name string, argv []string) {
	if r.fetched[name] {
		r.soft(r.c, Deny, "exec.download-run", "it runs what another command has just fetched", saferSaved)
	}
	if !slices.ContainsFunc(argv, programs.Remote) {
		return
	}
	for i, word := range argv {
		switch lower := strings.ToLower(word); {
		case i == 0:
		case strings.HasPrefix(lower, "-o") || strings.HasPrefix(lower, "--out") || name == "certutil" || name == "bitsadmin":
			if i+1 < len(argv) {
				r.fetched[shell.Name(argv[i+1])] = true
			}
			r.fetched[shell.Name(word)] = true
		case programs.Remote(word):
			r.fetched[shell.Name(word)] = true
		}
	}
}

// batch remembers the code that echo writes into a file, and follows it where a later command runs the file.
func (r *windowsRun) batch(name string, command windows.Command, nesting int) {
	switch code, ran := r.written[name]; {
	case len(command.Files) > 0 && (name == "echo" || name == "write-output" || strings.Contains(command.Argv[0], " ")):
		text := strings.Join(command.Argv, " ")
		if !strings.Contains(command.Argv[0], " ") { // else a text by itself, which PowerShell prints
			text = strings.Join(command.Argv[1:], " ")
		}
		for _, file := range command.Files {
			r.written[shell.Name(file)] += text + "\n"
		}
	case name == "call" && len(command.Argv) > 1:
		name = shell.Name(command.Argv[1])
		code, ran = r.written[name]
		fallthrough
	case ran:
		delete(r.written, name) // it may run itself
		if language := "cmd"; ran {
			if strings.HasSuffix(name, ".ps1") {
				language = "powershell"
			}
			r.code(language, code, nesting+1)
		}
	}
}

// start takes the program and the arguments of Start-Process.
func (r *windowsRun) start(words []string, nesting int) {
	var rest []string
	for _, word := range words {
		if lower := strings.ToLower(word); lower == "-verb" {
			return // a rule of its own
		} else if !strings.HasPrefix(lower, "-file") && !strings.HasPrefix(lower, "-arg") && lower != "-wait" && lower != "-nonewwindow" && lower != "-passthru" {
			rest = append(rest, word)
		}
	}
	if len(rest) > 0 {
		r.code("cmd", strings.Join(rest, " "), nesting+1)
	}
}

// subsystem takes the command that wsl starts.
func (r *windowsRun) subsystem(words []string) {
	for len(words) > 0 && (strings.HasPrefix(words[0], "-") || words[0] == "~") {
		switch words[0] {
		case "-d", "--distribution", "-u", "--user", "--cd", "--shell-type":
			words = words[min(1, len(words)-1):]
		}
		words = words[1:]
	}
	if len(words) > 0 {
		r.elsewhere(words)
	}
}

// elsewhere decides on a command of a program that is the same on all systems, as the POSIX shells would start it.
func (r *windowsRun) elsewhere(argv []string) {
	var line strings.Builder
	for _, word := range argv {
		for i, part := range strings.Split(word, shell.Unknown) {
			if i > 0 {
				line.WriteString(`"$RANDOM"`) // not known either
			}
			quoted, err := syntax.Quote(part, syntax.LangBash)
			if err != nil {
				quoted = "''"
			}
			if part != "" || word == "" {
				line.WriteString(quoted)
			}
		}
		line.WriteByte(' ')
	}
	before := r.fixed
	r.fixed = &r.c.Span
	shell.Interpret(line.String(), shell.Options{Dir: r.dir, Env: map[string]string{}}, r.analysis)
	r.fixed = before
}
