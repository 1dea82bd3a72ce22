package programs

import "github.com/picoclaw/picoclaw/sdk/guard/internal/shell"

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
