// Package docs has the command docs, which writes the reference pages of the documentation.
package docs

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/reference"
	"github.com/picoclaw/picoclaw/host/config"
)

// Options are the options of `picoclaw docs`.
type Options struct{ *cli.Factory }

// NewCmdDocs is for whoever works on picoclaw: it writes the pages of the documentation that follow from the program.
func NewCmdDocs(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	return cli.NewCommand(&cobra.Command{
		Use:    "docs DIR",
		Short:  "Write the reference pages of the documentation into a directory",
		Hidden: true,
		RunE:   func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}, o, runF)
}

func (o *Options) run(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("docs into which directory?")
	}
	h, err := hosts.Open(o.Factory, "")
	if err != nil {
		return err
	}
	defer hosts.Close(o.Factory, h)
	tools, err := reference.Tools(h.Installed())
	if err != nil {
		return cli.FailOrNil(err)
	}
	for name, text := range map[string]string{
		"configuration.md": reference.Configuration(config.Schema()),
		"tools.md":         tools,
		"cli.md":           reference.Commands(cmd.Root()),
	} {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
			return cli.FailOrNil(err)
		}
	}
	return nil
}
