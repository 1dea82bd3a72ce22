package programs

import (
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// databaseClient also takes its commands from its standard input.
func databaseClient(name string, args []shell.Field) []Use {
	return append(table()[name].uses(args, shell.Texts(args)), Use{Kind: Input, Lang: "sql"})
}

// calculator takes its program from its standard input, unless it is told of one.
func calculator(name string, args []shell.Field) []Use {
	uses := table()[name].uses(args, shell.Texts(args))
	for _, use := range uses {
		if use.Kind == Code || use.Kind == Script {
			return uses
		}
	}
	return append(uses, Use{Kind: Input, Lang: table()[name].lang})
}
