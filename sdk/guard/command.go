package guard

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// Command is a command line to be decided on, with its directory, environment and input.
type Command struct {
	Text     string
	Dir      string            // working directory; empty for the workspace
	Env      map[string]string // known environment, as if the text had set it
	Stdin    string            // known standard input
	Dialect  ShellDialect      // shell that will execute it
	Undoable bool              // undo covers the command's changes in the workspace
}

// MaxCommandLength is the maximum length of a command in bytes.
const MaxCommandLength = shell.MaxText

// First lines of refusal messages.
const (
	reasonDangerous = "Command blocked by safety guard (dangerous pattern detected)"
	reasonWorkdir   = "Command blocked by safety guard (path outside working dir)"
	reasonProtected = "Command blocked by safety guard (protected path)"
)

// DecideCommand decides whether a command may run. It interprets the text as its shell would, without executing
// anything. It checks every simple command, redirection and path, also in nested code; the strictest finding counts. It
// can't know the effects of scripts, compiled programs and file contents.
func (g *Guard) DecideCommand(c Command) (d Decision) {
	a := &commandAnalysis{guard: g, text: c.Text, rules: g.policy.Exec.DenyPatterns, paths: g.policy.Restrict,
		undoable: c.Undoable}
	defer func() {
		if p := recover(); p != nil {
			d = Decision{Verdict: Deny, Rule: "exec.internal", Hint: "write the command in a simpler way",
				Safer:  "write the command in a simpler way",
				Reason: reasonDangerous + "\n" + escapeUnprintable(fmt.Sprintf("the command could not be analysed: %v", p))}
		}
	}()
	if problem := shell.CheckCommandText(c.Text); problem != nil {
		a.VisitProblem(problem.Location, *problem)
		return a.finalDecision()
	}
	if why := findEnvProblem(c.Env); why != "" {
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: "exec.malformed", line: reasonDangerous, tier: tierHard, why: why,
			safer: "name each variable by letters, digits and _"})
		return a.finalDecision()
	}
	a.addCustomDenyFinding(shell.SourceSpan{End: len(a.text), Line: 1, Column: 1}, nil, a.text)
	dir := cmp.Or(c.Dir, g.workspaces[0])
	if d := g.decidePathCached(&a.known, List, dir); d.Verdict == Allow {
		dir = d.Path // absolute, and what the system will call it
	} else {
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: d.Rule, line: reasonWorkdir,
			why: "the directory that it would start in: " + d.Reason, safer: d.Safer, setting: d.Setting})
		return a.finalDecision()
	}
	if home := g.policy.Exec.Home; home != "" {
		a.known.home, _ = paths.Resolve(home)
	}
	switch {
	case !a.rules && !a.paths && len(g.deny) == 0:
	case c.Dialect == Cmd || c.Dialect == PowerShell:
		a.checkWindowsText(string(c.Dialect), c.Text)
	default:
		env := c.Env
		if env == nil {
			env = map[string]string{}
		}
		shell.Interpret(c.Text, shell.InterpretOptions{Dir: dir, Env: env, Stdin: c.Stdin}, a)
		if first, _, _ := strings.Cut(strings.TrimLeft(c.Text, " \t"), " "); windows.IsWindowsCommand(strings.ToLower(first)) &&
			strings.Contains(c.Text, `\`) {
			a.checkWindowsText("cmd", c.Text)
		}
	}
	if g.policy.Exec.Profile == ProfileSeedStrict {
		a.addSeedProfileFindings()
	}
	return a.finalDecision()
}

// canonicalCommandText returns the text that custom patterns match: the words of a simple command, quoted if needed and
// separated by single spaces.
func canonicalCommandText(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range replacePlaceholders(argv) {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			quoted = strconv.Quote(arg)
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

func (a *commandAnalysis) matchesCustomAllow(argv []string) bool {
	if len(a.guard.allow) == 0 || shell.HasUnknown(strings.Join(argv, " ")) {
		return false
	}
	return matchesAnyPattern(a.guard.allow, canonicalCommandText(argv))
}

func matchesAnyPattern(patterns []*regexp.Regexp, s string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}

// addCustomDenyFinding adds a finding if a custom deny pattern matches one of the texts.
func (a *commandAnalysis) addCustomDenyFinding(span shell.SourceSpan, argv []string, texts ...string) {
	for _, re := range a.guard.deny {
		if slices.ContainsFunc(texts, re.MatchString) {
			a.keepStrictestFinding(commandFinding{verdict: Deny, rule: "exec.custom-deny", line: reasonDangerous, span: span, argv: argv,
				why:  fmt.Sprintf("the custom deny pattern %q matches", re.String()),
				tier: tierHard, setting: "only removing the pattern from tools.exec.custom_deny_patterns lifts this"})
		}
	}
}
