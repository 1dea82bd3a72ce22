package guard

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// maxWindowsNesting is how deep cmd and PowerShell may start each other.
const maxWindowsNesting = 8

// maxWindowsSteps is how many simple commands of a Windows shell are followed.
const maxWindowsSteps = 256

// windowsText decides on a text that a Windows shell will run.
func (a *analysis) windowsText(language, text string) {
	c := &shell.Call{Place: *shell.NewPlace(text, 0, len(text), a.guard.workspaces[0])}
	a.windowsLine(c, language, text)
}

// windowsLine decides on code for cmd.exe or PowerShell.
func (a *analysis) windowsLine(c *shell.Call, language, line string) {
	before := a.away
	defer func() { a.away = before }()
	a.away = true // its words are no call's
	w := windowsCode{analysis: a, call: c}
	w.line(language, line, 0)
}

// windowsCode is code of a Windows shell that is being followed.
type windowsCode struct {
	*analysis
	call  *shell.Call
	steps int // simple commands so far
	bytes int // of code so far
	below int // how many directories below the workspace it works in
}

// line decides on the simple commands of a text.
func (w *windowsCode) line(language, line string, depth int) {
	switch {
	case depth > maxWindowsNesting || w.bytes > 3*MaxCommand/2:
		w.hard(w.call, "exec.too-complex", "code within code within code, too deep to follow")
		return
	case strings.Contains(line, shell.Unknown):
		w.hard(w.call, "exec.dynamic", "the code is encoded, or only known when it runs")
		return
	}
	w.bytes += len(line)
	split := windows.Cmd
	if language == "powershell" {
		split = windows.PowerShell
	}
	for _, argv := range split(line) {
		if w.steps++; w.steps > maxWindowsSteps {
			w.hard(w.call, "exec.too-complex", "the code has too many commands to follow")
			return
		}
		w.command(language, argv, depth)
	}
}

// deletes are PowerShell's short names of the cmdlet that deletes.
var deletes = map[string]bool{"rm": true, "ri": true, "del": true, "erase": true, "rd": true, "rmdir": true,
	"rni": true}

// command decides on one simple command of a Windows shell.
func (w *windowsCode) command(language string, argv []string, depth int) {
	if strings.Contains(argv[0], shell.Unknown) && (language == "cmd" || argv[0] == shell.Unknown && len(argv) == 1) {
		w.hard(w.call, "exec.dynamic", "which program runs is only known when it runs")
		return
	}
	name := programs.CanonicalName(shell.ProgramName(argv[0]))
	if language == "powershell" && deletes[name] {
		name = "remove-item"
	}
	if w.rules {
		w.judge(w.call, name, append([]string{name}, argv[1:]...))
	}
	w.words(language, name, argv)
	for i, word := range argv[:len(argv)-1] {
		if name == "forfiles" && strings.EqualFold(word, "/c") {
			w.line("cmd", argv[i+1], depth+1)
		}
	}
	fields := make([]shell.Field, len(argv)-1)
	for i, word := range argv[1:] {
		fields[i] = shell.Field{Text: word}
	}
	for _, use := range programs.FindUses(name, fields) {
		switch {
		case use.Kind == programs.Code && (use.Lang == "cmd" || use.Lang == "powershell"):
			w.line(use.Lang, use.Text, depth+1)
		case use.Kind == programs.Code:
			shell.Interpret(canonical(argv), shell.Options{Dir: w.guard.workspaces[0]}, w.analysis)
			return
		case use.Kind == programs.Input && (use.Lang == "cmd" || use.Lang == "powershell"):
			w.soft(w.call, "exec.pipe-to-shell", "it runs what it is fed", saferSaved)
		case use.Kind == programs.Command && len(use.Argv) > 0 && depth < maxWindowsNesting:
			w.command(language, shell.FieldTexts(use.Argv), depth+1)
		}
	}
}

// words decides on the words of a command that look like paths.
func (w *windowsCode) words(language, name string, argv []string) {
	enters := false
	if w.arguments += len(argv); w.arguments > maxArguments {
		w.hard(w.call, "exec.too-complex", "the code has too many words to look at")
		return
	}
	switch name {
	case "echo", "write-output", "write-host", "rem", "reg":
		argv = argv[max(slices.Index(argv, ">"), 0):]
		argv = argv[:min(2, len(argv))]
		if argv[0] != ">" {
			return
		}
	case "cd", "chdir", "pushd", "sl", "set-location", "push-location":
		enters = true
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(argv[0]), "cd."); ok {
		argv = append([]string{"cd", "." + rest}, argv[1:]...)
	}
	for i, word := range argv {
		outside := windows.Outside(word, w.below) || language == "powershell" &&
			(word == "~" || word == "/" || len(word) > 2 && leaves(word))
		if (i > 0 || strings.ContainsAny(word, `\`)) && outside && w.paths {
			w.refuse(&w.call.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside,
				argv: argv})
		} else if enters && i > 0 {
			w.below = windows.Depth(word, w.below)
		}
	}
}
