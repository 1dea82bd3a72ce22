package guard

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

const (
	hintHard  = "no pattern lifts this rule; ask the operator"
	hintPlain = "write the command so that it can be read without running it"
)

// Open implements [shell.Visitor].
func (a *analysis) Open(p *shell.Place, use shell.Use, f shell.Field) {
	access := map[shell.Use]Access{shell.ForReading: Read, shell.ForWriting: Write, shell.ForListing: List, shell.ForEntering: List}[use]
	if use == shell.ForWriting && strings.HasPrefix(f.Text, shell.Unknown) && a.paths {
		a.add(finding{verdict: Ask, rule: "exec.dynamic-target", line: reasonWorkdir, span: p.Span,
			why: "which file it writes is only known when it runs", hint: "name the file"})
	}
	a.path(p, access, f.Text, f.Glob, nil)
}

// Problem implements [shell.Visitor].
func (a *analysis) Problem(p *shell.Place, problem shell.Problem) {
	hint := hintPlain
	switch problem.Kind {
	case shell.Dynamic, shell.ForkBomb, shell.Network:
		if !a.rules {
			return
		}
	case shell.TooLong, shell.TooComplex:
		hint = "write it to a script in the workspace, or run it in several steps"
	case shell.Syntax:
		hint = "correct the command"
	}
	a.add(finding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, why: problem.Reason, hint: hint, span: problem.Span})
}

// Call implements [shell.Visitor].
func (a *analysis) Call(c *shell.Call) {
	a.environment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := shell.Texts(c.Argv)
	if len(a.guard.deny) > 0 {
		a.custom(canonical(argv), c.Span, argv)
	}
	if head, _, ok := strings.Cut(strings.ToLower(argv[0]), "/"); ok && windows.Names[head] {
		a.windowsLine(c, "cmd", c.Source())
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

// judge applies the rules to one simple command.
func (a *analysis) judge(c *shell.Call, name string, argv []string) {
	for _, rule := range rules.Find(rules.New(name, argv[1:], c.Via)) {
		f := finding{verdict: Deny, rule: rule.ID, line: reasonDangerous, span: c.Span, argv: argv,
			why: fmt.Sprintf("%s %s: %s", name, rule.Reason, canonical(argv)), hint: hintHard}
		if rule.Tier == rules.Soft {
			if a.allowed(argv) {
				continue
			}
			f.hint = "add " + strconv.Quote("^"+regexp.QuoteMeta(canonical(argv))+"$") + " to tools.exec.custom_allow_patterns"
		}
		if rule.Safer != "" {
			f.hint = rule.Safer + "; or " + f.hint
		}
		a.add(f)
	}
}

// soft adds a finding that is no rule of a program's, but that a custom allow pattern lifts all the same.
func (a *analysis) soft(c *shell.Call, rule, why string) {
	argv := shell.Texts(c.Argv)
	if !a.rules || a.allowed(argv) {
		return
	}
	a.add(finding{verdict: Deny, rule: rule, line: reasonDangerous, why: why, span: c.Span, argv: argv,
		hint: "save it in the workspace, read it, then run it from there"})
}

// hard adds a finding that no pattern lifts.
func (a *analysis) hard(c *shell.Call, rule, why string) {
	if a.rules {
		a.add(finding{verdict: Deny, rule: rule, line: reasonDangerous, why: why, span: c.Span, argv: shell.Texts(c.Argv), hint: hintHard})
	}
}

// systemBins are the directories whose programs may be named by their full path.
var systemBins = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
	"/usr/local/go/bin": true, "/opt/homebrew/bin": true, "/snap/bin": true, "/usr/games": true,
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
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true, "poweroff": true, "pkill": true, "killall": true,
	"chown": true, "chmod": true, "kill": true, "ssh": true, "docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// guess looks for a command among the arguments of a program whose arguments nobody knows the meaning of.
func (a *analysis) guess(c *shell.Call) {
	for i, f := range c.Argv[1:] {
		if starters[shell.Name(f.Text)] && i+2 < len(c.Argv) || strings.HasPrefix(f.Text, "mkfs.") {
			before := a.guessing
			a.guessing = true
			c.Exec(shell.Name(c.Argv[0].Text), c.Argv[i+1:], nil, "")
			a.guessing = before
			return
		}
	}
}
