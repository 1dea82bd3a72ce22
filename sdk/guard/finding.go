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

// finding is a reason to refuse a command.
type finding struct {
	verdict Verdict
	rule    string
	file    string // of the rule
	line    string // first line of the refusal
	why     string
	safer   string // alternative
	setting string // setting that would allow it
	tier    string
	span    shell.Span
	argv    []string
}

// analysis collects the findings of one command.
type analysis struct {
	guard     *Guard
	text      string
	rules     bool // built-in rules apply
	paths     bool // paths are confined
	guessing  bool // the interpreted text may be no command
	undoable  bool // undo covers its changes in the workspace
	elsewhere bool // the interpreted command may start in another place
	worst     *finding
	softened  []string     // ids of overridden rules
	allowed   []shell.Span // simple commands of the text itself that a custom allow pattern matches

	arguments int // of all commands so far
	known     pathCache
}

// addFinding keeps the strictest finding, and the first of equal ones.
func (a *analysis) addFinding(f finding) {
	if a.guessing && f.verdict == Deny {
		f.verdict = Ask
	}
	if a.worst == nil || f.verdict > a.worst.verdict {
		a.worst = &f
	}
}

// finalDecision returns the decision of all findings.
func (a *analysis) finalDecision() Decision {
	f := a.worst
	if f == nil {
		return Decision{Verdict: Allow, Softened: a.softened}
	}
	if r := rules.StructureRule(f.rule); f.file == "" && r != nil {
		f.file = r.File
	}
	d := Decision{Verdict: f.verdict, Rule: f.rule, File: f.file, Tier: f.tier, Reason: f.line, Argv: showPlaceholders(f.argv)}
	d = d.withRemedy(f.safer, f.setting)
	if f.why != "" {
		d.Reason += "\n" + escapeText(placeholders.Replace(f.why))
	}
	if s := f.span; s.Line > 0 && s.Start <= s.End && s.End <= len(a.text) {
		d.Span = &TextSpan{Start: s.Start, End: s.End, Line: s.Line, Column: s.Column, Text: a.text[s.Start:s.End]}
	}
	return d
}

// placeholders shows unknown parts to people.
var placeholders = strings.NewReplacer(shell.Unknown, "…", shell.Item, "{}", shell.Unset, "", shell.Substituted, "N",
	shell.Temporary, "tmp")

func showPlaceholders(argv []string) []string {
	if argv == nil {
		return nil
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = placeholders.Replace(arg)
	}
	return out
}
