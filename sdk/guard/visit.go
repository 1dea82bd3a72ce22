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
			a.computed(p, "exec.dynamic-target", reasonWorkdir, "which file it writes is only known when it runs",
				"name the file", nil)
		}
	}
	a.path(p, access, f.Text, f.Glob, nil)
}

// VisitProblem implements [shell.Visitor].
func (a *analysis) VisitProblem(p *shell.Place, problem shell.Problem) {
	f := finding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, tier: tierHard,
		why: problem.Reason, safer: saferPlain, span: p.Span()}
	switch problem.Kind {
	case shell.Dynamic:
		if a.rules {
			a.computed(p, f.rule, f.line, f.why, f.safer, problem.From)
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
	a.add(f)
}

// VisitCall implements [shell.Visitor].
func (a *analysis) VisitCall(c *shell.Call) {
	a.environment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := shell.FieldTexts(c.Argv)
	if len(a.guard.deny) > 0 {
		a.custom(c.Span(), argv, canonical(argv), canonical(append([]string{path.Base(argv[0])}, argv[1:]...)))
	}
	if head, _, ok := strings.Cut(strings.ToLower(argv[0]), "/"); ok && windows.Is(head) {
		a.windowsLine(c, "cmd", c.SourceText())
		a.windowsLine(c, "cmd", strings.Join(argv, " "))
	}
	name := programs.CanonicalName(shell.ProgramName(argv[0]))
	argv = append([]string{name}, argv[1:]...)
	if a.rules {
		a.judge(c, name, argv)
	}
	a.program(c, argv)
	a.uses(c, name)
	switch name {
	case "curl", "wget", "aria2c", "axel":
		fetched(c, name)
	}
	if listsInput(argv) {
		a.listed(c)
	}
	if windows.Is(name) && a.paths {
		for _, word := range strings.Fields(c.SourceText()) {
			if windows.Outside(word, 0) {
				a.refuse(&c.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: argv})
			}
		}
	}
	if !programs.KnowsOperands(name) {
		a.guess(c)
	}
}

// program decides on the program's own path.
func (a *analysis) program(c *shell.Call, argv []string) {
	word := c.Argv[0].Text
	if !strings.Contains(word, "/") || systemBins[filepath.Dir(filepath.Clean(word))] {
		return
	}
	a.path(&c.Place, Read, word, false, argv)
	a.script(c, word, "sh", nil)
}

// starters are the commands that are looked for behind a program that isn't understood: it may start them.
var starters = map[string]bool{
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true,
	"poweroff": true, "pkill": true, "killall": true, "chown": true, "chmod": true, "kill": true, "ssh": true,
	"docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// guess looks for a command among the arguments of a program whose arguments nobody knows the meaning of.
func (a *analysis) guess(c *shell.Call) {
	for i, f := range c.Argv[1:] {
		bare := !strings.Contains(f.Text, "/") || systemBins[filepath.Dir(f.Text)]
		if bare && starters[shell.ProgramName(f.Text)] && i+2 < len(c.Argv) || strings.HasPrefix(f.Text, "mkfs.") {
			before := a.guessing
			a.guessing = true
			c.InterpretCommand(shell.ProgramName(c.Argv[0].Text), c.Argv[i+1:], nil, "")
			a.guessing = before
			return
		}
	}
}
