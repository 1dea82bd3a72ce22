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
	Shell       Kind = "shell"       // runs Text as a shell command
	Argv        Kind = "argv"        // starts the command Argv
	Dynamic     Kind = "dynamic"     // runs a command or code that is only known when it runs
	Read        Kind = "read"        // reads the file Text
	Write       Kind = "write"       // writes the file Text
	Path        Kind = "path"        // names the file Text
	Print       Kind = "print"       // prints Text, as far as it is constant
	Delete      Kind = "delete"      // deletes recursively
	Kill        Kind = "kill"        // kills a process without mercy
	ForkBomb    Kind = "fork-bomb"   // multiplies without end
	Mode        Kind = "mode"        // changes the permissions or the owner of a file
	Drop        Kind = "drop"        // deletes what a database keeps: Text says how
	Environment Kind = "environment" // sets a variable that makes programs load code: Text
	Remote      Kind = "remote"      // gives a command to another machine, or takes one from it
)

// Effect is something that code does.
type Effect struct {
	Kind Kind
	Text string
	Argv []string
	Fed  bool // what Text runs reads what the code prints

	Inserted bool   // of Shell: something that isn't known is put into Text
	Content  string // of Write: what is written, if it is known
	Adds     bool   // of Content: it is put to what is there
	Partly   bool   // of Content: its lines are parts of what is there then
	Within   string // the function or class that the code defines and doesn't call, and in which this is, if what it does isn't known
	Beside   string // of Path: the path from the directory on that the code's own file is in, if it begins there
}

// Unheard is Effects of code of a scripting language that prints to nobody: without what it prints.
func Unheard(language, code string) []Effect {
	left := maxNested
	return script(language, code, 0, &left, true)
}

// Effects says what code of a language does. An unknown language is read like the scripting languages.
func Effects(language, code string) []Effect {
	switch language {
	case "sed":
		return Sed(code)
	case "awk":
		return Awk(code)
	case "sql":
		return ServerSQL(code)
	case "sqlite":
		return SQL(code)
	case "redis":
		return Redis(code)
	case "mongo":
		return Mongo(code)
	case "vim":
		return Vim(code)
	case "cron":
		return Cron(code)
	case "make":
		return Make(code, nil)
	case "gdb":
		return Gdb(code)
	case "curl":
		return Curl(code)
	case "wget":
		return Wget(code)
	case "dc":
		return Dc(code)
	case "gnuplot":
		return Gnuplot(code)
	case "m4":
		return M4(code)
	case "roff":
		return Roff(code)
	case "pdb":
		return Pdb(code)
	case "tcl":
		return Tcl(code)
	case "cmake":
		return CMake(code)
	case "ninja":
		return Ninja(code)
	case "procfile":
		return Procfile(code)
	case "tasks":
		return Tasks(code)
	case "tox":
		return Tox(code)
	case "cargo":
		return CargoSettings(code)
	case "hooks":
		return Hooks(code)
	case "npmrc":
		return NpmSettings(code)
	case "tmux":
		return Tmux(code)
	case "rust":
		return Rust(code)
	case "lisp":
		return Script("other", unquoted(code))
	}
	return Script(language, code)
}
