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

// ArgumentKind is the meaning of an argument to its program, such as a path to read.
type ArgumentKind byte

// Argument kinds. Their letters are the roles of [getopt.OptionSet].
const (
	Data    ArgumentKind = 'd' // text that names no file
	Path    ArgumentKind = 's' // unknown: an argument that looks like a path counts as one
	Read    ArgumentKind = 'r' // a path that the program reads
	Write   ArgumentKind = 'w' // a path that the program writes
	List    ArgumentKind = 'l' // a directory that the program lists
	Delete  ArgumentKind = 'x' // a path that the program deletes
	Enter   ArgumentKind = 'g' // a working directory: later paths are relative to it
	Code    ArgumentKind = 'c' // code in the language Lang
	Command ArgumentKind = 'p' // the first word of a command that the program starts
	Script  ArgumentKind = 'k' // a file that the program runs as code
	Input   ArgumentKind = 'i' // the program runs its standard input as code in the language Lang
)

// ArgumentUse is an argument, or a part of one, with its meaning.
type ArgumentUse struct {
	Kind   ArgumentKind
	Text   string
	Glob   bool
	Lang   string            // language of Code, Script and Input: "sh", "awk", "sed", "python" …
	Argv   []shell.Argument  // of Command
	Env    map[string]string // of Command
	Dir    string            // of Command, if it differs from the caller's
	Params []string          // of Code: $0, $1, …
	Items  bool              // of Command: the program appends words of its standard input
}

// FindArgumentUses returns the uses of a program's arguments. args do not include the program's name.
func FindArgumentUses(name string, args []shell.Argument) []ArgumentUse {
	c := parseProgramCall(name, shell.ArgumentTexts(args))
	c.args = args
	if handle := handlers[c.entry.Handler]; handle != nil {
		return handle(c)
	}
	return c.usesFromEntry()
}

// ParseArguments splits the arguments of a program into options and operands. Verbs count as operands.
func ParseArguments(name string, args []string) getopt.ParsedArgs {
	return parseProgramCall(name, args).parsed
}

// CanonicalProgramName returns the name of a program in data and rules. For example, python3.12 is python.
func CanonicalProgramName(name string) string {
	known := loadTable()
	trimmed := strings.TrimRight(name, "0123456789.-")
	switch e := known[name]; {
	case e == nil && known[trimmed] != nil && trimmed != "":
		return CanonicalProgramName(trimmed)
	case e == nil:
		return name
	case e.aliases[name]:
		return e.firstName
	case known[trimmed] != nil && known[trimmed].firstName == e.firstName:
		return trimmed // pip3 is pip, for example
	}
	return name
}

// KnowsAllOperands reports whether the meaning of all operands of a program is known.
func KnowsAllOperands(name string) bool {
	e := loadTable()[name]
	return e != nil && (e.Handler != "" || !e.hasUnknownOperand())
}

// IsRemoteFile reports whether a word names a file on another machine: user@host:path or a URL other than file:.
func IsRemoteFile(word string) bool {
	if scheme, _, ok := strings.Cut(word, "://"); ok && scheme != "" && !strings.ContainsAny(scheme, "/ \t='\"@,") {
		return !strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(word, ":")
	return ok && strings.Contains(host, "@") && !strings.Contains(host, "/") && !strings.Contains(host, "=")
}

// handlers compute the uses of programs that the data can't describe. A key is the handler's name in an entry, the
// field Handler. The result replaces the uses from the entry's fields.
var handlers = map[string]func(programCall) []ArgumentUse{
	"compile": compilerUses,
	"copy":    remoteCopyUses,
	"curl":    curlUses,
	"dd":      ddUses,
	"docker":  dockerUses,
	"env":     usesOfEnv,
	"find":    usesOfFind,
	"git":     gitUses,
	"ln":      lnUses,
	"make":    usesOfMake,
	"shell":   posixShellUses,
	"tar":     tarUses,
	"test":    usesOfTest,
	"windows": windowsShellUses,
	"xargs":   xargsUses,

	"parallel": parallelUses,
}

func shellCodeUse(text string) ArgumentUse { return ArgumentUse{Kind: Code, Lang: "sh", Text: text} }

func wholeArgumentUse(kind ArgumentKind, f shell.Argument) ArgumentUse {
	return ArgumentUse{Kind: kind, Text: f.Text, Glob: f.Glob}
}
