package guard

import "strings"

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
	Start, End   int
	Line, Column int // from 1
	Text         string
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
