// Package rules is the room of the guard's rules for commands: what is refused because of what the command is,
// wherever it works. The rules are data, in data/*.json, each with the reason it gives and with examples that a test
// checks; an operator's own rules have the same form, which [Rule] describes and [Parse] reads.
//
// A rule sees one simple command, its wrappers stripped and its words expanded. It knows nothing of a shell's syntax,
// of paths or of policies. What the fields of a rule can't say is one of the named predicates.
package rules
