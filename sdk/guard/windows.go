package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// maxWindowsNesting is how deep cmd and PowerShell may start each other.
const maxWindowsNesting = 8

// windowsText decides on a text that a Windows shell will run.
func (a *analysis) windowsText(language, text string) {
	c := &shell.Call{Place: *shell.NewPlace(text, 0, len(text), "")}
	a.windowsLine(c, language, text)
}

// windowsLine decides on code for cmd.exe or PowerShell.
func (a *analysis) windowsLine(c *shell.Call, language, line string) {
	if strings.Contains(line, shell.Unknown) {
		a.hard(c, "exec.dynamic", "the code is encoded, or only known when it runs")
		return
	}
	split := windows.Cmd
	if language == "powershell" {
		split = windows.PowerShell
	}
	for _, argv := range split(line) {
		a.windowsCommand(c, language, argv, 0)
	}
}

// aliases are PowerShell's short names of the cmdlet that deletes.
var aliases = map[string]bool{"rm": true, "ri": true, "del": true, "erase": true, "rd": true, "rmdir": true, "rni": true}

// windowsCommand decides on one simple command of a Windows shell.
func (a *analysis) windowsCommand(c *shell.Call, language string, argv []string, depth int) {
	if depth > maxWindowsNesting {
		a.hard(c, "exec.too-complex", "code within code within code, too deep to follow")
		return
	}
	if strings.HasPrefix(argv[0], shell.Unknown) && language == "cmd" {
		a.hard(c, "exec.dynamic", "which program runs is only known when it runs")
		return
	}
	name := programs.Canonical(shell.Name(argv[0]))
	if language == "powershell" && aliases[name] {
		name = "remove-item"
	}
	if a.rules {
		a.judge(c, name, append([]string{name}, argv[1:]...))
	}
	fields := make([]shell.Field, len(argv)-1)
	for i, word := range argv[1:] {
		fields[i] = shell.Field{Text: word}
		if a.paths && windows.Outside(word) {
			a.refuse(&c.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: argv})
		}
	}
	for _, use := range programs.Uses(name, fields) {
		switch {
		case use.Kind == programs.Code && (use.Lang == "cmd" || use.Lang == "powershell"):
			split := windows.Cmd
			if use.Lang == "powershell" {
				split = windows.PowerShell
			}
			for _, inner := range split(use.Text) {
				a.windowsCommand(c, use.Lang, inner, depth+1)
			}
		case use.Kind == programs.Command && len(use.Argv) > 0:
			a.windowsCommand(c, language, shell.Texts(use.Argv), depth+1)
		}
	}
}
