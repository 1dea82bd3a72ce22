package root

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// helpText has the long help of commands: a section for each, which begins with "== " and the command's name.
//
//go:embed help.txt
var helpText string

// addHelp sets the description and the examples of a command and its subcommands from [helpText].
func addHelp(cmd *cobra.Command) {
	if _, section, found := strings.Cut(helpText, "\n== "+cli.SubcommandPath(cmd)+"\n"); found {
		section, _, _ = strings.Cut(section, "\n== ")
		long, example, _ := strings.Cut(section, "Examples:\n")
		cmd.Long, cmd.Example = strings.TrimSpace(long), strings.Trim(example, "\n")
	}
	for _, sub := range cmd.Commands() {
		addHelp(sub)
	}
}
