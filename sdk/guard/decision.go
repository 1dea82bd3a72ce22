package guard

import "strings"

// Access is what a call would do with a path.
type Access string

// The kinds of access.
const (
	Read   Access = "read"
	Write  Access = "write"
	List   Access = "list"
	Delete Access = "delete"
)

// Verdict is how a decision came out. Verdicts are ordered: where several parts of one call are decided, the
// largest (strictest) is the call's.
type Verdict int

// The verdicts, from the mildest to the strictest.
const (
	Allow Verdict = iota
	Ask           // a person must be asked; with nobody to ask it counts as Deny
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

	// Rule is the stable id of the rule that decided, such as "workspace.outside" or "exec.rm-recursive".
	Rule string

	// File is the file that a rule for commands stands in: one of the built-in ones, or the operator's configuration.
	File string

	// Reason says in one sentence why. Its first line is what the agent sees as the error.
	Reason string

	// Hint says what to do about it, in one line: Safer and Setting, as far as there are such. It is empty for [Allow].
	Hint string

	// Safer is another way to reach the same, and Setting is the setting that would lift the refusal.
	Safer, Setting string

	// Tier says of a rule for commands whether a custom allow pattern lifts it ("soft") or not ("hard"); empty for others.
	Tier string

	// Softened are the ids of the rules that [ExecPolicy].UndoableDeletes has lifted for a command that is allowed.
	Softened []string

	// Path is the resolved path that was decided on; empty for commands.
	Path string

	// Span is the part of the command that decided, as byte offsets into its text; nil for paths.
	Span *Span

	// Argv is the canonical form of the simple command that decided; nil for paths.
	Argv []string
}

// Canonical is the simple command that decided, as custom patterns are matched against it: its words, quoted where they
// need it, with one space between them. It is empty for paths.
func (d Decision) Canonical() string { return canonical(d.Argv) }

// Span is a part of a command's text: bytes Start to End, End not included, with the place of its start and the part
// itself for people.
type Span struct {
	Start, End   int
	Line, Column int // from 1
	Text         string
}

// with returns the decision with what to do about it.
func (d Decision) with(safer, setting string) Decision {
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
