package guard

import (
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

// Command is a command line to decide on.
type Command struct {
	Text     string
	Dir      string            // working directory; empty for the workspace
	Env      map[string]string // known environment, treated as if the text had set it
	Stdin    string            // known standard input
	Dialect  Dialect           // shell that will execute it
	Undoable bool              // undo covers its changes in the workspace
}

// MaxCommandLength is the longest command in bytes; longer ones are refused.
const MaxCommandLength = shell.MaxText

// First lines of refusals.
const (
	reasonDangerous = "Command blocked by safety guard (dangerous pattern detected)"
	reasonWorkdir   = "Command blocked by safety guard (path outside working dir)"
	reasonProtected = "Command blocked by safety guard (protected path)"
)

// DecideCommand decides on a command. It interprets the text as its shell would, without executing anything, and
// decides on every simple command, redirection and path, also in nested code; the strictest decision counts. It can't
// know the effects of scripts, compiled programs and file contents.
func (g *Guard) DecideCommand(c Command) (d Decision) {
	a := &analysis{guard: g, text: c.Text, rules: g.policy.Exec.DenyPatterns, paths: g.policy.Restrict,
		undoable: c.Undoable}
	defer func() {
		if p := recover(); p != nil {
			d = Decision{Verdict: Deny, Rule: "exec.internal", Hint: "write the command in a simpler way",
				Safer:  "write the command in a simpler way",
				Reason: reasonDangerous + "\n" + escapeText(fmt.Sprintf("the command could not be analysed: %v", p))}
		}
	}()
	if problem := shell.CheckText(c.Text); problem != nil {
		a.VisitProblem(problem.Place, *problem)
		return a.finalDecision()
	}
	if why := malformedEnv(c.Env); why != "" {
		a.addFinding(finding{verdict: Deny, rule: "exec.malformed", line: reasonDangerous, tier: tierHard, why: why,
			safer: "name each variable by letters, digits and _"})
		return a.finalDecision()
	}
	a.applyCustomDeny(shell.Span{End: len(a.text), Line: 1, Column: 1}, nil, a.text)
	dir := c.Dir
	if dir == "" {
		dir = g.workspaces[0]
	}
	if d := g.resolvePath(&a.known, List, dir); d.Verdict == Allow {
		dir = d.Path // absolute, and what the system will call it
	} else {
		a.addFinding(finding{verdict: Deny, rule: d.Rule, line: reasonWorkdir,
			why: "the directory that it would start in: " + d.Reason, safer: d.Safer, setting: d.Setting})
		return a.finalDecision()
	}
	if home := g.policy.Exec.Home; home != "" {
		a.known.home, _ = paths.Resolve(home)
	}
	switch {
	case !a.rules && !a.paths && len(g.deny) == 0:
	case c.Dialect == Cmd || c.Dialect == PowerShell:
		a.decideWindowsText(string(c.Dialect), c.Text)
	default:
		env := c.Env
		if env == nil {
			env = map[string]string{}
		}
		shell.Interpret(c.Text, shell.Options{Dir: dir, Env: env, Stdin: c.Stdin}, a)
		if first, _, _ := strings.Cut(strings.TrimLeft(c.Text, " \t"), " "); windows.IsWindowsCommand(strings.ToLower(first)) &&
			strings.Contains(c.Text, `\`) {
			a.decideWindowsText("cmd", c.Text)
		}
	}
	if g.policy.Exec.Profile == ProfileSeedStrict {
		a.applySeedPatterns()
	}
	return a.finalDecision()
}

// canonicalText returns the text custom patterns match: the words of a simple command, quoted if needed, separated by
// single spaces.
func canonicalText(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range showPlaceholders(argv) {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			quoted = strconv.Quote(arg)
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

// matchesAllow reports whether a custom allow pattern matches a simple command.
func (a *analysis) matchesAllow(argv []string) bool {
	if len(a.guard.allow) == 0 || shell.HasUnknown(strings.Join(argv, " ")) {
		return false
	}
	return matchesAny(a.guard.allow, canonicalText(argv))
}

// matchesAny reports whether a pattern matches s.
func matchesAny(patterns []*regexp.Regexp, s string) bool {
	for _, re := range patterns {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// applyCustomDeny refuses a command if a custom deny pattern matches one of its texts.
func (a *analysis) applyCustomDeny(span shell.Span, argv []string, texts ...string) {
	for _, re := range a.guard.deny {
		if slices.ContainsFunc(texts, re.MatchString) {
			a.addFinding(finding{verdict: Deny, rule: "exec.custom-deny", line: reasonDangerous, span: span, argv: argv,
				why:  fmt.Sprintf("the custom deny pattern %q matches", re.String()),
				tier: tierHard, setting: "only removing the pattern from tools.exec.custom_deny_patterns lifts this"})
		}
	}
}
