package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/reference"
	"github.com/picoclaw/picoclaw/host/config"
)

// docsOptions are the options of `picoclaw docs`.
type docsOptions struct{ *app }

// newDocs is for whoever works on picoclaw: it writes the pages of the documentation that follow from the program.
func newDocs(a *app, runF func(*docsOptions) error) *cobra.Command {
	o := &docsOptions{app: a}
	return newCommand(&cobra.Command{
		Use:    "docs DIR",
		Short:  "Write the reference pages of the documentation into a directory",
		Hidden: true,
		RunE:   func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}, o, runF)
}

func (o *docsOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("docs into which directory?")
	}
	h, err := o.open("")
	if err != nil {
		return err
	}
	defer o.close(h)
	tools, err := reference.Tools(h.Installed())
	if err != nil {
		return asFailed(err)
	}
	for name, text := range map[string]string{
		"configuration.md": reference.Configuration(config.Schema()),
		"tools.md":         tools,
		"cli.md":           reference.Commands(cmd.Root()),
	} {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
			return asFailed(err)
		}
	}
	return nil
}
