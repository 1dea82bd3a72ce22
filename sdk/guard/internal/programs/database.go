package programs

import (
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// databaseClient also takes its commands from its standard input.
func databaseClient(name string, args []shell.Field) []Use {
	return append(table[name].uses(args), Use{Kind: Input, Lang: "sql"})
}
