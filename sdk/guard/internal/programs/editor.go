package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// plusCommands are the arguments of editors and pagers that begin with "+" and hold a command.
func plusCommands(name string, args []shell.Field) []Use {
	p := table()[name]
	var uses []Use
	var rest []shell.Field
	for _, arg := range args {
		if code, ok := strings.CutPrefix(arg.Text, "+"); ok {
			uses = append(uses, Use{Kind: Code, Lang: "vim", Text: code})
			continue
		}
		rest = append(rest, arg)
	}
	return append(uses, p.uses(rest, shell.Texts(rest))...)
}

// lineEditor is an editor that takes its commands from its standard input.
func lineEditor(name string, args []shell.Field) []Use {
	uses := []Use{{Kind: Input, Lang: "vim"}}
	if table()[name] != nil {
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

// editor is an editor that takes commands line by line from its standard input where it is started as ex.
func editor(name string, args []shell.Field) []Use {
	uses := plusCommands(name, args)
	for _, arg := range args {
		if letters, ok := strings.CutPrefix(arg.Text, "-"); ok && letters != "" && strings.Trim(letters, "eEsnRZv") == "" && strings.ContainsAny(letters, "eE") {
			return append(uses, Use{Kind: Input, Lang: "vim"})
		}
	}
	return uses
}

// debugger also takes its commands from its standard input, and the program that it starts behind --args.
func debugger(name string, args []shell.Field) []Use {
	for i, arg := range args {
		if (arg.Text == "--args" || arg.Text == "-args" || name == "lldb" && arg.Text == "--") && i+1 < len(args) {
			uses := debugger(name, args[:i])
			return append(uses, Use{Kind: Command, Argv: args[i+1:]})
		}
	}
	return append(table()[name].uses(args, shell.Texts(args)), Use{Kind: Input, Lang: "gdb"})
}
