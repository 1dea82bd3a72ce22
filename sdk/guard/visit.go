package guard

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// VisitPath checks a path that the shell itself uses. It implements [shell.Visitor].
func (a *commandAnalysis) VisitPath(p *shell.CommandLocation, use shell.PathUse, f shell.Argument) {
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
	a.checkPath(p, access, f.Text, f.Glob, nil)
}

// VisitProblem adds a finding for text that can't be interpreted. It implements [shell.Visitor].
func (a *commandAnalysis) VisitProblem(p *shell.CommandLocation, problem shell.AnalysisProblem) {
	f := commandFinding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, tier: tierHard,
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
		if problem.Kind == shell.Network {
			f.safer = "use curl, or nc -z to test whether a port is open"
		}
	case shell.TooLong, shell.TooComplex:
		f.safer = "write it to a script in the workspace, or run it in several steps"
	case shell.Syntax:
		f.safer = "correct the command"
	}
	a.keepStrictestFinding(f)
}

// VisitCommand checks a simple command: environment, rules, program and arguments. It implements [shell.Visitor].
func (a *commandAnalysis) VisitCommand(c *shell.SimpleCommand) {
	a.checkEnvironment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := shell.ArgumentTexts(c.Argv)
	if len(a.guard.deny) > 0 {
		a.addCustomDenyFinding(c.Span(), argv, canonicalCommandText(argv), canonicalCommandText(append([]string{path.Base(argv[0])}, argv[1:]...)))
	}
	if head, _, ok := strings.Cut(strings.ToLower(argv[0]), "/"); ok && windows.IsWindowsCommand(head) {
		a.checkWindowsLine(c, "cmd", c.SourceText)
		a.checkWindowsLine(c, "cmd", strings.Join(argv, " "))
	}
	name := programs.CanonicalProgramName(shell.ProgramName(argv[0]))
	argv = append([]string{name}, argv[1:]...)
	if a.rules {
		a.addCommandRuleFindings(c, name, argv)
		if !c.IsNested() && a.matchesCustomAllow(argv) {
			a.allowed = append(a.allowed, c.Span())
		}
	}
	a.checkProgramPath(c, argv)
	a.checkArguments(c, name)
	switch name {
	case "curl", "wget", "aria2c", "axel":
		recordDownloadedFiles(c, name)
	}
	if readsPathsFromStdin(argv) {
		a.checkStdinPaths(c)
	}
	if windows.IsWindowsCommand(name) && a.paths {
		for _, word := range strings.Fields(c.SourceText) {
			if windows.IsOutsideWorkspace(word, 0) {
				a.addPathRefusal(&c.CommandLocation, commandFinding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: argv})
			}
		}
	}
	if !programs.KnowsAllOperands(name) {
		a.checkGuessedCommand(c)
	}
}

// checkProgramPath checks a program that is named by a path outside the system directories.
func (a *commandAnalysis) checkProgramPath(c *shell.SimpleCommand, argv []string) {
	word := c.Argv[0].Text
	if !strings.Contains(word, "/") || systemBins[filepath.Dir(filepath.Clean(word))] {
		return
	}
	a.checkPath(&c.CommandLocation, Read, word, false, argv)
	a.checkScriptFile(c, word, "sh", nil)
}

// guessedPrograms are commands that an unknown program may start if they occur in its arguments.
var guessedPrograms = map[string]bool{
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true,
	"poweroff": true, "pkill": true, "killall": true, "chown": true, "chmod": true, "kill": true, "ssh": true,
	"docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// checkGuessedCommand analyses a command in the arguments of an unknown program. Its findings ask for approval instead
// of denying.
func (a *commandAnalysis) checkGuessedCommand(c *shell.SimpleCommand) {
	for i, f := range c.Argv[1:] {
		bare := !strings.Contains(f.Text, "/") || systemBins[filepath.Dir(f.Text)]
		if bare && guessedPrograms[shell.ProgramName(f.Text)] && i+2 < len(c.Argv) || strings.HasPrefix(f.Text, "mkfs.") {
			before := a.guessing
			a.guessing = true
			c.InterpretStartedCommand(shell.ProgramName(c.Argv[0].Text), c.Argv[i+1:], nil, "")
			a.guessing = before
			return
		}
	}
}
