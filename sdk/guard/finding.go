package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Tiers of command rules.
const (
	tierSoft = "soft"
	tierHard = "hard"
)

// commandFinding is a reason to refuse a command or to ask for approval.
type commandFinding struct {
	verdict Verdict
	rule    string
	file    string // of the rule
	line    string // first line of the refusal
	why     string
	safer   string // alternative
	setting string // setting that would allow it
	tier    string
	span    shell.SourceSpan
	argv    []string
}

// commandAnalysis analyses one command. Its check methods add findings; finalDecision returns the strictest one.
type commandAnalysis struct {
	guard     *Guard
	text      string
	rules     bool // built-in rules apply
	paths     bool // paths are confined
	guessing  bool // the interpreted text may not be a command
	undoable  bool // undo covers its changes in the workspace
	elsewhere bool // the interpreted command may start in another directory
	worst     *commandFinding
	softened  []string           // ids of overridden rules
	allowed   []shell.SourceSpan // simple commands of the text that a custom allow pattern matches

	arguments int // number of arguments of all commands so far
	known     commandPathCache
}

// keepStrictestFinding keeps a finding if it is stricter than all earlier ones.
func (a *commandAnalysis) keepStrictestFinding(f commandFinding) {
	if a.guessing && f.verdict == Deny {
		f.verdict = Ask
	}
	if a.worst == nil || f.verdict > a.worst.verdict {
		a.worst = &f
	}
}

// finalDecision returns the decision of the strictest finding, or Allow without findings.
func (a *commandAnalysis) finalDecision() Decision {
	f := a.worst
	if f == nil {
		return Decision{Verdict: Allow, Softened: a.softened}
	}
	if r := rules.FindStructureRule(f.rule); f.file == "" && r != nil {
		f.file = r.File
	}
	d := Decision{Verdict: f.verdict, Rule: f.rule, File: f.file, Tier: f.tier, Reason: f.line, Argv: replacePlaceholders(f.argv)}
	d = d.withRemedy(f.safer, f.setting)
	if f.why != "" {
		d.Reason += "\n" + escapeUnprintable(placeholders.Replace(f.why))
	}
	if s := f.span; s.Line > 0 && s.Start <= s.End && s.End <= len(a.text) {
		d.Span = &CommandSpan{Start: s.Start, End: s.End, Line: s.Line, Column: s.Column, Text: a.text[s.Start:s.End]}
	}
	return d
}

// placeholders replaces the marks of unknown parts by text for people.
var placeholders = strings.NewReplacer(shell.Unknown, "…", shell.Item, "{}", shell.Unset, "", shell.Substituted, "N",
	shell.Temporary, "tmp")

func replacePlaceholders(argv []string) []string {
	if argv == nil {
		return nil
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = placeholders.Replace(arg)
	}
	return out
}
