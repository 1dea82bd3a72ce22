package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manOptions are the options of `picoclaw man`.
type manOptions struct{ *app }

func newMan(a *app, runF func(*manOptions) error) *cobra.Command {
	o := &manOptions{app: a}
	return newCommand(&cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long:  "Writes a manual page for each command: picoclaw.1, picoclaw-call.1 and so on. The directory is made if need be.",
		Example: `  picoclaw man ~/.local/share/man/man1
  man picoclaw-call`,
		ValidArgsFunction: directories,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Root(), args) },
	}, o, runF)
}

func (o *manOptions) run(root *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("man into which directory?")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return asFailed(err)
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "PICOCLAW", Section: "1", Source: "picoclaw " + o.version, Manual: "picoclaw"}
	return asFailed(doc.GenManTree(root, header, args[0]))
}
