package guard

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// finding is one reason to refuse a command.
type finding struct {
	verdict Verdict
	rule    string
	line    string // the first line of the refusal
	why     string
	hint    string
	span    shell.Span
	argv    []string
}

// analysis collects what is found in one command.
type analysis struct {
	guard    *Guard
	text     string
	rules    bool // the built-in rules apply
	paths    bool // paths are confined
	guessing bool // what is being followed may not be a command at all
	worst    *finding
}

// add keeps the strictest finding, and of equally strict ones the first.
func (a *analysis) add(f finding) {
	if a.guessing && f.verdict == Deny {
		f.verdict = Ask
	}
	if a.worst == nil || f.verdict > a.worst.verdict {
		a.worst = &f
	}
}

// decision is what the findings come to.
func (a *analysis) decision() Decision {
	f := a.worst
	if f == nil {
		return Decision{Verdict: Allow}
	}
	d := Decision{Verdict: f.verdict, Rule: f.rule, Reason: f.line, Hint: f.hint, Argv: visible(f.argv)}
	if f.why != "" {
		d.Reason += "\n" + printable(f.why)
	}
	if f.span.Line > 0 {
		d.Span = &Span{Start: f.span.Start, End: f.span.End, Line: f.span.Line, Column: f.span.Column}
	}
	return d
}

// marks shows people the marks of what isn't known.
var marks = strings.NewReplacer(shell.Unknown, "…", shell.Unset, "", shell.Substituted, "N", shell.Temporary, "tmp")

func visible(argv []string) []string {
	if argv == nil {
		return nil
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = marks.Replace(arg)
	}
	return out
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

// allowed says whether a custom allow pattern matches a simple command.
func (a *analysis) allowed(argv []string) bool {
	if len(a.guard.allow) == 0 || shell.HasUnknown(strings.Join(argv, " ")) {
		return false
	}
	return matches(a.guard.allow, canonical(argv))
}

// matches says whether one of the patterns matches s.
func matches(patterns []*regexp.Regexp, s string) bool {
	for _, re := range patterns {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// custom refuses what a custom deny pattern matches.
func (a *analysis) custom(text string, span shell.Span, argv []string) {
	for _, re := range a.guard.deny {
		if re.MatchString(text) {
			a.add(finding{verdict: Deny, rule: "exec.custom-deny", line: reasonDangerous, span: span, argv: argv,
				why:  fmt.Sprintf("the custom deny pattern %q matches", re.String()),
				hint: "only removing the pattern from tools.exec.custom_deny_patterns lifts this"})
		}
	}
}

// raw searches the text as it stands: for the custom deny patterns, and in the strict profile for the seed's.
func (a *analysis) raw() {
	whole := shell.Span{End: len(a.text), Line: 1, Column: 1}
	a.custom(a.text, whole, nil)
	if a.guard.policy.Exec.Profile != ProfileSeedStrict {
		return
	}
	const hint = "leave tools.exec.profile empty to have commands judged by what they do"
	if a.rules {
		for _, re := range seedPatterns {
			if at := re.FindStringIndex(a.text); at != nil {
				a.add(finding{verdict: Deny, rule: "exec.seed-pattern", line: reasonDangerous, hint: hint, span: a.span(at),
					why: fmt.Sprintf("profile seed_strict refuses whatever the pattern %q matches", re.String())})
			}
		}
	}
	if !a.paths {
		return
	}
	if at := seedTraversal.FindStringIndex(a.text); at != nil {
		a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, hint: hint, span: a.span(at),
			why: "profile seed_strict refuses every step to a parent directory"})
	}
	for _, at := range seedPath.FindAllStringIndex(a.text, -1) {
		if path := a.text[at[0]:at[1]]; !a.seedInside(path) {
			a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, hint: hint, span: a.span(at),
				why: "profile seed_strict takes " + path + " for a path outside the workspace"})
		}
	}
}

// seedInside says whether the seed's guard lets what it takes for a path pass.
func (a *analysis) seedInside(path string) bool {
	return safeDevices[path] || withinAny(a.guard.workspaces, path) || a.guard.opened(Read, path)
}

// span is a part of the text as the decision tells it.
func (a *analysis) span(at []int) shell.Span {
	before := a.text[:at[0]]
	return shell.Span{Start: at[0], End: at[1], Line: 1 + strings.Count(before, "\n"), Column: at[0] - strings.LastIndexByte(before, '\n')}
}
