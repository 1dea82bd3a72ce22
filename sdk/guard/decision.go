package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// AccessKind is the kind of access to a path, such as read or write.
type AccessKind string

// Kinds of access.
const (
	Read   AccessKind = "read"
	Write  AccessKind = "write"
	List   AccessKind = "list"
	Delete AccessKind = "delete"
)

// Verdict is the result of a decision: allow, ask or deny. Of several verdicts, the strictest (largest) counts.
type Verdict int

// Verdicts from mildest to strictest.
const (
	Allow Verdict = iota
	Ask           // needs approval; counts as Deny if nobody can be asked
	Deny
)

// String returns "allow", "ask" or "deny".
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Decision is the guard's verdict on a path or command, with its reasons.
type Decision struct {
	Verdict Verdict

	// Rule is the id of the deciding rule, such as "workspace.outside" or "exec.rm-recursive".
	Rule string

	// File is the source of the deciding command rule: a built-in file or the operator's configuration.
	File string

	// Reason is the agent's error message: a sentence, after a fixed first line for commands.
	Reason string

	// Hint is the remedy in one line, from Safer and Setting. It is empty for [Allow].
	Hint string

	// Safer is a safer alternative; Setting is the setting that would allow it.
	Safer, Setting string

	// Tier says whether a custom allow pattern overrides a command rule ("soft") or not ("hard"); empty for other
	// rules.
	Tier string

	// Softened are rules that were not applied to an allowed command because of [ExecPolicy].UndoableDeletes.
	Softened []string

	// Path is the resolved path; empty for commands.
	Path string

	// Span is the deciding part of the command; nil for paths.
	Span *CommandSpan

	// Argv is the canonical form of the deciding simple command; nil for paths.
	Argv []string
}

// CanonicalCommand returns the simple command that decided, in the form for custom patterns. It is empty for paths.
func (d Decision) CanonicalCommand() string { return canonicalCommandText(d.Argv) }

// CommandSpan is a part of the command text: bytes Start to End (exclusive), with its position and text.
type CommandSpan struct {
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Line   int    `json:"line"` // from 1
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// withRemedy returns the decision with a safer alternative, a setting and the hint made of both.
func (d Decision) withRemedy(safer, setting string) Decision {
	d.Safer, d.Setting = safer, setting
	switch {
	case safer == "":
		d.Hint = setting
	case setting == "":
		d.Hint = safer
	case strings.HasPrefix(setting, "add "):
		d.Hint = safer + "; or " + setting
	default:
		d.Hint = safer + "; " + setting
	}
	return d
}

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
