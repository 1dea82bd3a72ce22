package guard

import "strings"

// Access is the kind of access to a path.
type Access string

// The kinds of access.
const (
	Read   Access = "read"
	Write  Access = "write"
	List   Access = "list"
	Delete Access = "delete"
)

// Verdict is the result of a decision. Of several verdicts, the largest (strictest) counts.
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

// Decision is the guard's answer, with its reasons.
type Decision struct {
	Verdict Verdict

	// Rule is the stable id of the deciding rule, such as "workspace.outside" or "exec.rm-recursive".
	Rule string

	// File contains the deciding command rule: a built-in file, or the operator's configuration.
	File string

	// Reason is one sentence. Its first line is the agent's error message.
	Reason string

	// Hint is the remedy in one line, from Safer and Setting. It is empty for [Allow].
	Hint string

	// Safer is a safer alternative; Setting is the setting that would allow it.
	Safer, Setting string

	// Tier says whether a custom allow pattern overrides a command rule ("soft") or not ("hard"); empty for other
	// rules.
	Tier string

	// Softened are the rules [ExecPolicy].UndoableDeletes overrode for an allowed command.
	Softened []string

	// Path is the resolved path; empty for commands.
	Path string

	// Span is the deciding part of the command; nil for paths.
	Span *TextSpan

	// Argv is the canonical form of the deciding simple command; nil for paths.
	Argv []string
}

// CanonicalCommand returns the deciding simple command as matched by custom patterns: quoted words separated by spaces.
// It is empty for paths.
func (d Decision) CanonicalCommand() string { return canonicalText(d.Argv) }

// TextSpan is a part of a command's text: bytes Start to End (exclusive), with position and text for people.
type TextSpan struct {
	Start, End   int
	Line, Column int // from 1
	Text         string
}

// withRemedy returns the decision with a hint.
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
