// Package programs knows what the arguments of common programs are for: which are paths that are read or written,
// which are text, code in some language, or commands that the program starts.
//
// Most of it is data: files of JSON below data, one a theme, that say what the programs' manuals say. An entry is about
// a program, or about one of its verbs:
//
//	{"program":"uv","verb":"run","operands":"command"}
//
// What no data can say is said by a handler that the entry names. The package must not know what is dangerous or what a
// policy allows.
package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Kind is what an argument is for.
type Kind byte

// The kinds. Their letters are the roles of [getopt.Spec].
const (
	Data    Kind = 'd' // text that names nothing
	Path    Kind = 's' // unknown: what looks like a path is one
	Read    Kind = 'r' // a path that is read
	Write   Kind = 'w' // a path that is written
	List    Kind = 'l' // a directory that is listed
	Delete  Kind = 'x' // a path that is deleted
	Enter   Kind = 'g' // a directory that the program changes to: paths behind it count from there
	Code    Kind = 'c' // code in the language Lang
	Command Kind = 'p' // from here on, a command that the program starts
	Script  Kind = 'k' // a file that the program runs as code
	Input   Kind = 'i' // the program runs its standard input as code in the language Lang
)

// Use is one argument, or part of one, and what it is for.
type Use struct {
	Kind   Kind
	Text   string
	Glob   bool
	Lang   string            // of Code, Script and Input: "sh", "awk", "sed", "python" …
	Argv   []shell.Field     // of Command
	Env    map[string]string // of Command
	Dir    string            // of Command, if it isn't the caller's
	Params []string          // of Code: $0, $1, …
	Items  bool              // of Command: words of the standard input are appended
}

// Uses tells what the arguments of a program are for. Args don't include the program's own name.
func Uses(name string, args []shell.Field) []Use {
	c := parse(name, shell.Texts(args))
	c.args = args
	if handle := handlers[c.entry.Handler]; handle != nil {
		return handle(c)
	}
	return c.uses()
}

// Options takes the arguments of a program apart as far as its options are known. Verbs are operands.
func Options(name string, args []string) getopt.Args {
	return parse(name, args).parsed
}

// Canonical is the name that the data and the rules have for a program: python3.12 is python.
func Canonical(name string) string {
	known := table()
	trimmed := strings.TrimRight(name, "0123456789.-")
	switch e := known[name]; {
	case e == nil && known[trimmed] != nil && trimmed != "":
		return Canonical(trimmed)
	case e == nil:
		return name
	case e.aliases[name]:
		return e.first
	case known[trimmed] != nil && known[trimmed].first == e.first:
		return trimmed // such as pip3
	}
	return name
}

// Understood reports whether it is known what all operands of a program are for.
func Understood(name string) bool {
	e := table()[name]
	return e != nil && (e.Handler != "" || !e.hasPath())
}

// Remote reports whether a word names something on another machine: user@host:path, or a URL that isn't file:.
func Remote(word string) bool {
	if scheme, _, ok := strings.Cut(word, "://"); ok && scheme != "" && !strings.ContainsAny(scheme, "/ \t='\"@,") {
		return !strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(word, ":")
	return ok && strings.Contains(host, "@") && !strings.Contains(host, "/") && !strings.Contains(host, "=")
}

// handlers find what the data can't say, by the name that entries call them.
var handlers = map[string]func(call) []Use{
	"compile": compiler,
	"copy":    copied,
	"curl":    curl,
	"dd":      dd,
	"docker":  docker,
	"env":     env,
	"find":    find,
	"git":     git,
	"ln":      ln,
	"make":    makes,
	"shell":   posixShell,
	"tar":     tar,
	"test":    test,
	"windows": windowsShell,
	"xargs":   xargs,

	"parallel": parallel,
}

// sh is code for the shell.
func sh(text string) Use { return Use{Kind: Code, Lang: "sh", Text: text} }

// field is a use of a whole argument.
func field(kind Kind, f shell.Field) Use { return Use{Kind: kind, Text: f.Text, Glob: f.Glob} }

// words makes the arguments of a command.
func words(texts ...string) []shell.Field {
	out := make([]shell.Field, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}
