package shell

import "strings"

// Runes that stand for something that isn't known. They are noncharacters, which [Check] refuses in a command.
const (
	Unknown     = "\uFDD0" // any text, nobody can know which
	Unset       = "\uFDD1" // a variable that nothing has set: empty, unless the environment has it
	Substituted = "\uFDD2" // the number in the path of a process substitution
	Item        = "\uFDD4" // a name that another command finds
	Program     = "\uFDD5" // the directory on PATH that a program is in, as which tells it
	Temporary   = "\uFDD3" // the directory that mktemp makes new files in; within a name, that mktemp makes it up
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

	single bool // it is one argument, although it isn't known
}

// Texts returns the texts of fields.
func Texts(fields []Field) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Text
	}
	return texts
}
