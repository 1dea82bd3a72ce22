package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// plusCommands are the arguments of editors and pagers that begin with "+" and hold a command.
func plusCommands(name string, args []shell.Field) []Use {
	p := table[name]
	var uses []Use
	var rest []shell.Field
	for _, arg := range args {
		if code, ok := strings.CutPrefix(arg.Text, "+"); ok {
			uses = append(uses, Use{Kind: Code, Lang: "vim", Text: code})
			continue
		}
		rest = append(rest, arg)
	}
	return append(uses, p.uses(rest)...)
}

// lineEditor is an editor that takes its commands from its standard input.
func lineEditor(name string, args []shell.Field) []Use {
	uses := []Use{{Kind: Input, Lang: "vim"}}
	if table[name] != nil {
		return append(uses, plusCommands(name, args)...)
	}
	for _, arg := range args {
		if code, ok := strings.CutPrefix(arg.Text, "!"); ok {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: code})
		} else if !strings.HasPrefix(arg.Text, "-") {
			uses = append(uses, Use{Kind: Write, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}
