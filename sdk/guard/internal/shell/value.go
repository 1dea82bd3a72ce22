package shell

import "strings"

// Runes that stand for something that isn't known. They are noncharacters, which [Check] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text, nobody can know which
	Unset       = "\uFDD1" // a variable that nothing has set: empty, unless the environment has it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a name that another command finds
	Program     = "\uFDD5" // the directory on PATH that a program is in, as which tells it
	Temporary   = "\uFDD3" // the directory that mktemp makes new files in
)

// HasUnknown says whether part of s isn't known.
func HasUnknown(s string) bool {
	// All the marks begin with the same two bytes, which hardly anything else does.
	return strings.Contains(s, "\uFDD0"[:2]) && (strings.Contains(s, Unknown) || strings.Contains(s, Unset) || strings.Contains(s, Item))
}

// Field is one argument, after all expansions.
type Field struct {
	Text string
	Glob bool // it is still a pattern, which the shell will replace by the paths that match
}

// Texts returns the texts of fields.
func Texts(fields []Field) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Text
	}
	return texts
}

// Stream is what a command reads or prints.
type Stream struct {
	Known bool
	Text  string // if Known
	Piped bool   // it comes from another command, not from a terminal or a file
	File  string // the file that it is read from
	From  Origin // the commands that made it, if it isn't known
}

// same says whether as much is known of two streams.
func (s Stream) same(o Stream) bool { return s.Known == o.Known && s.Text == o.Text }

// text is a stream whose content is known.
func text(s string) Stream { return Stream{Known: true, Text: s, Piped: true} }

// transcript is what commands print one after the other.
type transcript struct {
	parts   []string
	size    int
	unknown bool
	from    Origin
}

func (t *transcript) add(s Stream) {
	if !t.unknown && s.Known && t.size+len(s.Text) <= MaxText {
		if s.Text != "" {
			t.parts = append(t.parts, s.Text)
		}
		t.size += len(s.Text)
		return
	}
	t.unknown, t.from = true, t.from.and(s.From)
}

// stream is all of it.
func (t *transcript) stream() Stream {
	if t.unknown {
		return Stream{Piped: true, From: t.from}
	}
	return text(strings.Join(t.parts, ""))
}

// then is the stream of two commands after each other.
func (s Stream) then(next Stream) Stream {
	if s.Known && next.Known && len(s.Text)+len(next.Text) <= MaxText {
		return text(s.Text + next.Text)
	}
	return Stream{Piped: true, From: s.From.and(next.From)}
}
