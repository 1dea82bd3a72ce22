package guard

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// VisitPath implements [shell.Visitor].
func (a *analysis) VisitPath(p *shell.Place, use shell.PathUse, f shell.Field) {
	access := List
	switch use {
	case shell.ForReading:
		access = Read
	case shell.ForWriting:
		access = Write
		if strings.HasPrefix(f.Text, shell.Unknown) && a.paths {
			a.addComputedFinding(p, "exec.dynamic-target", reasonWorkdir, "which file it writes is only known when it runs",
				"name the file", nil)
		}
	}
	a.decidePath(p, access, f.Text, f.Glob, nil)
}

// VisitProblem implements [shell.Visitor].
func (a *analysis) VisitProblem(p *shell.Place, problem shell.Problem) {
	f := finding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, tier: tierHard,
		why: problem.Reason, safer: saferPlain, span: p.Span()}
	switch problem.Kind {
	case shell.Dynamic:
		if a.rules {
			a.addComputedFinding(p, f.rule, f.line, f.why, f.safer, problem.From)
		}
		return
	case shell.ForkBomb, shell.Network:
		if !a.rules {
			return
		}
		f.setting = settingHard
	case shell.TooLong, shell.TooComplex:
		f.safer = "write it to a script in the workspace, or run it in several steps"
	case shell.Syntax:
		f.safer = "correct the command"
	}
	a.addFinding(f)
}

// VisitCall implements [shell.Visitor].
func (a *analysis) VisitCall(c *shell.Call) {
	a.decideEnvironment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := shell.FieldTexts(c.Argv)
	if len(a.guard.deny) > 0 {
		a.applyCustomDeny(c.Span(), argv, canonicalText(argv), canonicalText(append([]string{path.Base(argv[0])}, argv[1:]...)))
	}
	if head, _, ok := strings.Cut(strings.ToLower(argv[0]), "/"); ok && windows.IsWindowsCommand(head) {
		a.decideWindowsLine(c, "cmd", c.SourceText())
		a.decideWindowsLine(c, "cmd", strings.Join(argv, " "))
	}
	name := programs.CanonicalName(shell.ProgramName(argv[0]))
	argv = append([]string{name}, argv[1:]...)
	if a.rules {
		a.applyRules(c, name, argv)
		if !c.IsNested() && a.matchesAllow(argv) {
			a.allowed = append(a.allowed, c.Span())
		}
	}
	a.decideProgram(c, argv)
	a.decideArguments(c, name)
	switch name {
	case "curl", "wget", "aria2c", "axel":
		recordDownloads(c, name)
	}
	if readsPathsFromStdin(argv) {
		a.decideListedPaths(c)
	}
	if windows.IsWindowsCommand(name) && a.paths {
		for _, word := range strings.Fields(c.SourceText()) {
			if windows.IsOutside(word, 0) {
				a.refusePath(&c.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: argv})
			}
		}
	}
	if !programs.KnowsOperands(name) {
		a.guessCommand(c)
	}
}

// decideProgram decides on the program's path.
func (a *analysis) decideProgram(c *shell.Call, argv []string) {
	word := c.Argv[0].Text
	if !strings.Contains(word, "/") || systemBins[filepath.Dir(filepath.Clean(word))] {
		return
	}
	a.decidePath(&c.Place, Read, word, false, argv)
	a.decideScript(c, word, "sh", nil)
}

// guessedPrograms are commands searched in the arguments of an unknown program, which may start them.
var guessedPrograms = map[string]bool{
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true,
	"poweroff": true, "pkill": true, "killall": true, "chown": true, "chmod": true, "kill": true, "ssh": true,
	"docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// guessCommand searches a command in arguments of unknown purpose.
func (a *analysis) guessCommand(c *shell.Call) {
	for i, f := range c.Argv[1:] {
		bare := !strings.Contains(f.Text, "/") || systemBins[filepath.Dir(f.Text)]
		if bare && guessedPrograms[shell.ProgramName(f.Text)] && i+2 < len(c.Argv) || strings.HasPrefix(f.Text, "mkfs.") {
			before := a.guessing
			a.guessing = true
			c.InterpretCommand(shell.ProgramName(c.Argv[0].Text), c.Argv[i+1:], nil, "")
			a.guessing = before
			return
		}
	}
}
