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
type Options struct {
	*cli.Factory
	dir string
}

// NewCmdDocs returns the hidden command for developers that writes the generated pages of the documentation.
func NewCmdDocs(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	return cli.OverrideRunFunc(&cobra.Command{
		Use:    "docs DIR",
		Short:  "Write the reference pages of the documentation into a directory",
		Hidden: true,
		Args:   cli.OneArgument(&o.dir, "name the directory to write"),
		RunE:   func(cmd *cobra.Command, _ []string) error { return o.writePages(cmd.Root()) },
	}, o, runF)
}

func (o *Options) writePages(root *cobra.Command) error {
	h, err := hosts.OpenHost(o.Factory, "")
	if err != nil {
		return err
	}
	defer hosts.CloseHost(o.Factory, h)
	tools, err := reference.ToolsPage(h.AllTools())
	if err != nil {
		return cli.FailedError(err)
	}
	for name, text := range map[string]string{
		"configuration.md": reference.ConfigurationPage(config.KnownKeys()),
		"tools.md":         tools,
		"cli.md":           reference.CommandsPage(root),
	} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644); err != nil {
			return cli.FailedError(err)
		}
	}
	return nil
}
