package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// The tiers of rules for commands.
const (
	tierSoft = "soft"
	tierHard = "hard"
)

// finding is one reason to refuse a command.
type finding struct {
	verdict Verdict
	rule    string
	file    string // that the rule stands in
	line    string // the first line of the refusal
	why     string
	safer   string // what to do instead
	setting string // what lifts it
	tier    string
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
	kept     bool // what it destroys in the workspace is kept
	away     bool // what starts that which is being followed may do so in another place
	worst    *finding
	softened []string // the ids of rules that were lifted because of kept

	arguments int // of all commands so far
	known     known
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
		return Decision{Verdict: Allow, Softened: a.softened}
	}
	if r := rules.Structure(f.rule); f.file == "" && r != nil {
		f.file = r.File
	}
	d := Decision{Verdict: f.verdict, Rule: f.rule, File: f.file, Tier: f.tier, Reason: f.line, Argv: visible(f.argv)}
	d = d.with(f.safer, f.setting)
	if f.why != "" {
		d.Reason += "\n" + printable(marks.Replace(f.why))
	}
	if s := f.span; s.Line > 0 && s.Start <= s.End && s.End <= len(a.text) {
		d.Span = &Span{Start: s.Start, End: s.End, Line: s.Line, Column: s.Column, Text: a.text[s.Start:s.End]}
	}
	return d
}

// marks shows people the marks of what isn't known.
var marks = strings.NewReplacer(shell.Unknown, "…", shell.Item, "{}", shell.Unset, "", shell.Substituted, "N",
	shell.Temporary, "tmp")

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
