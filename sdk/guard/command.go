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

// Command is a command line that is to be run.
type Command struct {
	Text    string
	Dir     string            // where it starts; the workspace if empty
	Env     map[string]string // what is known of its environment; it is decided on as if the text had set it
	Stdin   string            // what it will read from its standard input, if anything is
	Dialect Dialect           // the shell that will run it
	Kept    bool              // what it destroys in the workspace is kept, so that it can be undone
}

// MaxCommand is the longest command, in bytes, that is decided on. A longer one is refused.
const MaxCommand = shell.MaxText

// The first lines of a refusal's reason.
const (
	reasonDangerous = "Command blocked by safety guard (dangerous pattern detected)"
	reasonWorkdir   = "Command blocked by safety guard (path outside working dir)"
	reasonProtected = "Command blocked by safety guard (protected path)"
)

// Command decides whether a command may be run. It follows the text as its shell would, without running anything,
// and decides on every simple command, redirection and path that it finds, in code within code too. The strictest of
// these decisions is the answer. What only shows when the command runs, it can't know: what scripts and
// compiled programs do, and what is in files.
func (g *Guard) Command(c Command) (d Decision) {
	a := &analysis{guard: g, text: c.Text, rules: g.policy.Exec.DenyPatterns, paths: g.policy.Restrict,
		kept: c.Kept}
	defer func() {
		if p := recover(); p != nil {
			d = Decision{Verdict: Deny, Rule: "exec.internal", Hint: "write the command in a simpler way",
				Safer:  "write the command in a simpler way",
				Reason: reasonDangerous + "\n" + printable(fmt.Sprintf("the command could not be analysed: %v", p))}
		}
	}()
	if problem := shell.CheckText(c.Text); problem != nil {
		a.VisitProblem(problem.Place, *problem)
		return a.decision()
	}
	if why := malformedEnv(c.Env); why != "" {
		a.add(finding{verdict: Deny, rule: "exec.malformed", line: reasonDangerous, tier: tierHard, why: why,
			safer: "name each variable by letters, digits and _"})
		return a.decision()
	}
	a.custom(shell.Span{End: len(a.text), Line: 1, Column: 1}, nil, a.text)
	if g.policy.Exec.Profile == ProfileSeedStrict {
		a.strict()
	}
	dir := c.Dir
	if dir == "" {
		dir = g.workspaces[0]
	}
	if d := g.resolvePath(&a.known, List, dir); d.Verdict == Allow {
		dir = d.Path // absolute, and what the system will call it
	} else {
		a.add(finding{verdict: Deny, rule: d.Rule, line: reasonWorkdir,
			why: "the directory that it would start in: " + d.Reason, safer: d.Safer, setting: d.Setting})
		return a.decision()
	}
	if home := g.policy.Exec.Home; home != "" {
		a.known.home, _ = paths.Resolve(home)
	}
	switch {
	case !a.rules && !a.paths && len(g.deny) == 0:
	case c.Dialect == Cmd || c.Dialect == PowerShell:
		a.windowsText(string(c.Dialect), c.Text)
	default:
		env := c.Env
		if env == nil {
			env = map[string]string{}
		}
		shell.Interpret(c.Text, shell.Options{Dir: dir, Env: env, Stdin: c.Stdin}, a)
		if first, _, _ := strings.Cut(strings.TrimLeft(c.Text, " \t"), " "); windows.Is(strings.ToLower(first)) &&
			strings.Contains(c.Text, `\`) {
			a.windowsText("cmd", c.Text)
		}
	}
	return a.decision()
}

// canonical is the text that custom patterns are matched against: the words of one simple command, quoted where they
// need it, with one space between them.
func canonical(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range visible(argv) {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			quoted = strconv.Quote(arg)
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

// allowed reports whether a custom allow pattern matches a simple command.
func (a *analysis) allowed(argv []string) bool {
	if len(a.guard.allow) == 0 || shell.HasUnknown(strings.Join(argv, " ")) {
		return false
	}
	return matches(a.guard.allow, canonical(argv))
}

// matches reports whether one of the patterns matches s.
func matches(patterns []*regexp.Regexp, s string) bool {
	for _, re := range patterns {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// custom refuses a command if a custom deny pattern matches one of the texts that it has.
func (a *analysis) custom(span shell.Span, argv []string, texts ...string) {
	for _, re := range a.guard.deny {
		if slices.ContainsFunc(texts, re.MatchString) {
			a.add(finding{verdict: Deny, rule: "exec.custom-deny", line: reasonDangerous, span: span, argv: argv,
				why:  fmt.Sprintf("the custom deny pattern %q matches", re.String()),
				tier: tierHard, setting: "only removing the pattern from tools.exec.custom_deny_patterns lifts this"})
		}
	}
}
