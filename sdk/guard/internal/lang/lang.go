// Package lang reads code of languages other than the shell's as far as needed to say what it does outside itself:
// which commands it starts and which files it names. It doesn't interpret the code; what it doesn't understand it
// reports as such.
//
// It knows the languages' syntax. It must not know what is dangerous or what a policy allows.
package lang

// Kind says what a piece of code does.
type Kind string

// The kinds of effects.
const (
	Shell    Kind = "shell"     // runs Text as a shell command
	Argv     Kind = "argv"      // starts the command Argv
	Dynamic  Kind = "dynamic"   // runs a command or code that is only known when it runs
	Read     Kind = "read"      // reads the file Text
	Write    Kind = "write"     // writes the file Text
	Path     Kind = "path"      // names the file Text
	Delete   Kind = "delete"    // deletes recursively
	Kill     Kind = "kill"      // kills a process without mercy
	ForkBomb Kind = "fork-bomb" // multiplies without end
	Mode     Kind = "mode"      // changes the permissions or the owner of a file
	Remote   Kind = "remote"    // gives a command to another machine, or takes one from it
)

// Effect is something that code does.
type Effect struct {
	Kind Kind
	Text string
	Argv []string
	Fed  bool // what Text runs reads what the code prints
}

// Effects says what code of a language does. An unknown language is read like the scripting languages.
func Effects(language, code string) []Effect {
	switch language {
	case "sed":
		return Sed(code)
	case "awk":
		return Awk(code)
	case "sql":
		return SQL(code)
	case "vim":
		return Vim(code)
	case "cron":
		return Cron(code)
	case "make":
		return Make(code)
	case "gdb":
		return Gdb(code)
	case "tcl":
		return Tcl(code)
	}
	return Script(language, code)
}
