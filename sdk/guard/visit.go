package guard

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// Open implements [shell.Visitor].
func (a *analysis) Open(p *shell.Place, use shell.Use, f shell.Field) {
	access := map[shell.Use]Access{shell.ForReading: Read, shell.ForWriting: Write, shell.ForListing: List, shell.ForEntering: List}[use]
	if use == shell.ForWriting && strings.HasPrefix(f.Text, shell.Unknown) && a.paths {
		a.add(finding{verdict: Ask, rule: "exec.dynamic-target", line: reasonWorkdir, span: p.Span,
			why: "which file it writes is only known when it runs", safer: "name the file"})
	}
	a.path(p, access, f.Text, f.Glob, nil)
}

// Problem implements [shell.Visitor].
func (a *analysis) Problem(p *shell.Place, problem shell.Problem) {
	safer, setting := saferPlain, ""
	switch problem.Kind {
	case shell.Dynamic, shell.ForkBomb, shell.Network:
		if !a.rules {
			return
		}
		setting = settingHard
	case shell.TooLong, shell.TooComplex:
		safer = "write it to a script in the workspace, or run it in several steps"
	case shell.Syntax:
		safer = "correct the command"
	}
	a.add(finding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, tier: tierHard, why: problem.Reason, safer: safer, setting: setting, span: problem.Span})
}

// Call implements [shell.Visitor].
func (a *analysis) Call(c *shell.Call) {
	a.environment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := shell.Texts(c.Argv)
	if len(a.guard.deny) > 0 {
		a.custom(c.Span, argv, canonical(argv), canonical(append([]string{path.Base(argv[0])}, argv[1:]...)))
	}
	if head, _, ok := strings.Cut(strings.ToLower(argv[0]), "/"); ok && windows.Names[head] {
		a.windowsLine(c, "cmd", c.Source())
		a.windowsLine(c, "cmd", strings.Join(argv, " "))
	}
	name := programs.Canonical(shell.Name(argv[0]))
	argv = append([]string{name}, argv[1:]...)
	if a.rules {
		a.judge(c, name, argv)
	}
	a.program(c, argv)
	for _, use := range programs.Uses(name, c.Argv[1:]) {
		a.use(c, name, use)
	}
	switch name {
	case "curl", "wget", "aria2c", "axel":
		fetched(c, name)
	case "cpio", "pax", "afio", "zip", "tar", "rsync", "wc", "du", "cat", "sort":
		if name == "cpio" || name == "pax" || name == "afio" || listsInput(argv) {
			a.listed(c)
		}
	}
	if windows.Names[name] && a.paths {
		for _, word := range strings.Fields(c.Source()) {
			if windows.Outside(word) {
				a.outside(c, word)
			}
		}
	}
	if !programs.Understood(name) {
		a.guess(c)
	}
}

// listsInput says whether options make a program read names of files from its standard input.
func listsInput(argv []string) bool {
	for i, arg := range argv {
		switch {
		case arg == "-@", strings.HasSuffix(arg, "-from=-"), strings.HasSuffix(arg, "-from=/dev/stdin"), arg == "-T-":
			return true
		case i > 0 && (arg == "-" || arg == "/dev/stdin") && strings.HasSuffix(argv[i-1], "T"), i > 0 && arg == "-" && strings.HasSuffix(argv[i-1], "-from"):
			return true
		}
	}
	return false
}
