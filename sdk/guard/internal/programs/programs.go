// Package programs knows the meaning of arguments of common programs: paths to read or write, text, code, or commands
// that the program starts.
//
// Most of it is data, taken from the manuals of the programs: JSON files in the directory data, one per subject. An
// entry describes a program or one of its verbs:
//
//	{"program":"uv","verb":"run","operands":"command"}
//
// An entry names a handler if data can't describe its program. The package must not know which programs are dangerous
// or what a policy allows.
package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Kind is the meaning of an argument.
type Kind byte

// The kinds. Their letters are the roles of [getopt.Spec].
const (
	Data    Kind = 'd' // text that names no file
	Path    Kind = 's' // unknown: an argument that looks like a path counts as one
	Read    Kind = 'r' // a path that the program reads
	Write   Kind = 'w' // a path that the program writes
	List    Kind = 'l' // a directory that the program lists
	Delete  Kind = 'x' // a path that the program deletes
	Enter   Kind = 'g' // a working directory: later paths are relative to it
	Code    Kind = 'c' // code in the language Lang
	Command Kind = 'p' // the first word of a command that the program starts
	Script  Kind = 'k' // a file that the program runs as code
	Input   Kind = 'i' // the program runs its standard input as code in the language Lang
)

// Use is an argument, or a part of one, and its meaning.
type Use struct {
	Kind   Kind
	Text   string
	Glob   bool
	Lang   string            // of Code, Script and Input: "sh", "awk", "sed", "python" …
	Argv   []shell.Field     // of Command
	Env    map[string]string // of Command
	Dir    string            // of Command, if it differs from the caller's
	Params []string          // of Code: $0, $1, …
	Items  bool              // of Command: the program appends words of its standard input
}

// FindUses returns the uses of a program's arguments. Args don't include the program's own name.
func FindUses(name string, args []shell.Field) []Use {
	c := parseCall(name, shell.FieldTexts(args))
	c.args = args
	if handle := handlers[c.entry.Handler]; handle != nil {
		return handle(c)
	}
	return c.dataUses()
}

// ParseOptions parses the arguments of a program by its known options. Verbs count as operands.
func ParseOptions(name string, args []string) getopt.ParsedArgs {
	return parseCall(name, args).parsed
}

// CanonicalName returns the name of a program in the data and the rules: python3.12 is python.
func CanonicalName(name string) string {
	known := loadTable()
	trimmed := strings.TrimRight(name, "0123456789.-")
	switch e := known[name]; {
	case e == nil && known[trimmed] != nil && trimmed != "":
		return CanonicalName(trimmed)
	case e == nil:
		return name
	case e.aliases[name]:
		return e.firstName
	case known[trimmed] != nil && known[trimmed].firstName == e.firstName:
		return trimmed // pip3 is pip, for example
	}
	return name
}

// KnowsOperands reports whether the meaning of all operands of a program is known.
func KnowsOperands(name string) bool {
	e := loadTable()[name]
	return e != nil && (e.Handler != "" || !e.hasPathOperand())
}

// IsRemote reports whether a word names a file on another machine: user@host:path, or a URL other than file:.
func IsRemote(word string) bool {
	if scheme, _, ok := strings.Cut(word, "://"); ok && scheme != "" && !strings.ContainsAny(scheme, "/ \t='\"@,") {
		return !strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(word, ":")
	return ok && strings.Contains(host, "@") && !strings.Contains(host, "/") && !strings.Contains(host, "=")
}

// handlers find uses that data can't describe, by the handler names in the data.
var handlers = map[string]func(call) []Use{
	"compile": compilerUses,
	"copy":    copyUses,
	"curl":    curlUses,
	"dd":      ddUses,
	"docker":  dockerUses,
	"env":     envUses,
	"find":    findUses,
	"git":     gitUses,
	"ln":      lnUses,
	"make":    makeUses,
	"shell":   posixShellUses,
	"tar":     tarUses,
	"test":    testUses,
	"windows": windowsShellUses,
	"xargs":   xargsUses,

	"parallel": parallelUses,
}

// shellCode returns a use of text as shell code.
func shellCode(text string) Use { return Use{Kind: Code, Lang: "sh", Text: text} }

// fieldUse returns a use of a whole argument.
func fieldUse(kind Kind, f shell.Field) Use { return Use{Kind: kind, Text: f.Text, Glob: f.Glob} }

// wordFields returns the fields of a command without globs.
func wordFields(texts ...string) []shell.Field {
	out := make([]shell.Field, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}
