package guard

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// maxWindowsNesting is the maximum depth at which cmd and PowerShell start each other.
const maxWindowsNesting = 8

// maxWindowsSteps is the maximum number of analysed simple commands of a Windows shell.
const maxWindowsSteps = 256

// checkWindowsText checks the whole text as code of a Windows shell.
func (a *commandAnalysis) checkWindowsText(language, text string) {
	c := &shell.SimpleCommand{CommandLocation: *shell.NewLocation(text, 0, len(text), a.guard.workspaces[0])}
	a.checkWindowsLine(c, language, text)
}

// checkWindowsLine checks code of cmd.exe or PowerShell within a command.
func (a *commandAnalysis) checkWindowsLine(c *shell.SimpleCommand, language, line string) {
	before := a.elsewhere
	defer func() { a.elsewhere = before }()
	a.elsewhere = true // its words are no call's
	w := windowsAnalysis{commandAnalysis: a, call: c}
	w.checkLine(language, line, 0)
}

// windowsAnalysis analyses code of a Windows shell.
type windowsAnalysis struct {
	*commandAnalysis
	call  *shell.SimpleCommand
	steps int // simple commands so far
	bytes int // of code so far
	below int // depth of the working directory below the workspace
}

// checkLine adds findings for the dangerous simple commands of a line.
func (w *windowsAnalysis) checkLine(language, line string, depth int) {
	switch {
	case depth > maxWindowsNesting || w.bytes > 3*MaxCommandLength/2:
		w.addUnliftableFinding(w.call, "exec.too-complex", "code within code within code, too deep to follow")
		return
	case strings.Contains(line, shell.Unknown):
		w.addUnliftableFinding(w.call, "exec.dynamic", "the code is encoded, or only known when it runs")
		return
	}
	w.bytes += len(line)
	split := windows.SplitCmdLine
	if language == "powershell" {
		split = windows.SplitPowerShell
	}
	for _, argv := range split(line) {
		if w.steps++; w.steps > maxWindowsSteps {
			w.addUnliftableFinding(w.call, "exec.too-complex", "the code has too many commands to follow")
			return
		}
		w.checkCommand(language, argv, depth)
	}
}

// deleteAliases are PowerShell's aliases of Remove-Item.
var deleteAliases = map[string]bool{"rm": true, "ri": true, "del": true, "erase": true, "rd": true, "rmdir": true,
	"rni": true}

// checkCommand checks one simple command of a Windows shell, and code that it starts.
func (w *windowsAnalysis) checkCommand(language string, argv []string, depth int) {
	if strings.Contains(argv[0], shell.Unknown) && (language == "cmd" || argv[0] == shell.Unknown && len(argv) == 1) {
		w.addUnliftableFinding(w.call, "exec.dynamic", "which program runs is only known when it runs")
		return
	}
	name := programs.CanonicalProgramName(shell.ProgramName(argv[0]))
	if language == "powershell" && deleteAliases[name] {
		name = "remove-item"
	}
	if w.rules {
		w.addCommandRuleFindings(w.call, name, append([]string{name}, argv[1:]...))
	}
	w.checkOutsidePaths(language, name, argv)
	for i, word := range argv[:len(argv)-1] {
		if name == "forfiles" && strings.EqualFold(word, "/c") {
			w.checkLine("cmd", argv[i+1], depth+1)
		}
	}
	for _, use := range programs.FindArgumentUses(name, shell.PlainArguments(argv[1:]...)) {
		switch {
		case use.Kind == programs.Code && (use.Lang == "cmd" || use.Lang == "powershell"):
			w.checkLine(use.Lang, use.Text, depth+1)
		case use.Kind == programs.Code:
			shell.Interpret(canonicalCommandText(argv), shell.InterpretOptions{Dir: w.guard.workspaces[0]}, w.commandAnalysis)
			return
		case use.Kind == programs.Input && (use.Lang == "cmd" || use.Lang == "powershell"):
			w.addLiftableFinding(w.call, "exec.pipe-to-shell", "it runs its input as code", saferSaved)
		case use.Kind == programs.Command && len(use.Argv) > 0 && depth < maxWindowsNesting:
			w.checkCommand(language, shell.ArgumentTexts(use.Argv), depth+1)
		}
	}
}

// checkOutsidePaths adds findings for words that look like paths outside the workspace, and follows cd.
func (w *windowsAnalysis) checkOutsidePaths(language, name string, argv []string) {
	enters := false
	if w.arguments += len(argv); w.arguments > maxArguments {
		w.addUnliftableFinding(w.call, "exec.too-complex", "the code has too many words to analyse")
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
		outside := windows.IsOutsideWorkspace(word, w.below) || language == "powershell" &&
			(word == "~" || word == "/" || len(word) > 2 && looksOutsideDir(word))
		if (i > 0 || strings.ContainsAny(word, `\`)) && outside && w.paths {
			w.addPathRefusal(&w.call.CommandLocation, commandFinding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside,
				argv: argv})
		} else if enters && i > 0 {
			w.below = windows.DepthAfterEntering(word, w.below)
		}
	}
}
