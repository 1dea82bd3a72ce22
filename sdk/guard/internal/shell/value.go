package shell

import (
	"slices"
	"strings"
)

// Runes that stand for something that isn't known. They are noncharacters, which [Check] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text, nobody can know which
	Unset       = "\uFDD1" // a variable that nothing has set: empty, unless the environment has it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a name that another command finds
	Temporary   = "\uFDD3" // the directory that mktemp makes new files in
)

// HasUnknown reports whether part of s isn't known.
func HasUnknown(s string) bool {
	return strings.Contains(s, Unknown) || strings.Contains(s, Unset) || strings.Contains(s, Item)
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
	Text  string   // if Known
	Piped bool     // it comes from another command, not from a terminal or a file
	File  string   // the file that it is read from
	From  []string // the names of the commands that made it, if it isn't known
}

// same reports whether as much is known of two streams.
func (s Stream) same(o Stream) bool { return s.Known == o.Known && s.Text == o.Text }

// Known returns the stream of a text, which may have unknown parts.
func Known(s string) Stream { return known(s) }

// text is a stream whose content is known.
func text(s string) Stream { return Stream{Known: true, Text: s, Piped: true} }

// printed is the stream of a command of which nothing is known but its name.
func printed(by string) Stream { return Stream{Piped: true, From: []string{by}} }

// then is the stream of two commands after each other.
func (s Stream) then(next Stream) Stream {
	if s.Known && next.Known && len(s.Text)+len(next.Text) <= MaxText {
		return text(s.Text + next.Text)
	}
	return Stream{Piped: true, From: from(s.From, next.From)}
}

// from unites the names of commands. There is an end to them.
func from(a, b []string) []string {
	const enough = 256
	for _, name := range b {
		if len(a) < enough && !slices.Contains(a, name) {
			a = append(a[:len(a):len(a)], name)
		}
	}
	return a
}
