// Package docs has the commands docs and man, which write reference pages.
package docs

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

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

// ManOptions are the options of `picoclaw man`.
type ManOptions struct{ *cli.Factory }

func NewCmdMan(f *cli.Factory, runF func(*ManOptions) error) *cobra.Command {
	o := &ManOptions{Factory: f}
	return cli.NewCommand(&cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long:  "Writes a manual page for each command: picoclaw.1, picoclaw-call.1 and so on. The directory is made if need be.",
		Example: `  picoclaw man ~/.local/share/man/man1
  man picoclaw-call`,
		ValidArgsFunction: cli.CompleteDirectories,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Root(), args) },
	}, o, runF)
}

func (o *ManOptions) run(root *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("man into which directory?")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return cli.FailOrNil(err)
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "PICOCLAW", Section: "1", Source: "picoclaw " + o.Version, Manual: "picoclaw"}
	return cli.FailOrNil(doc.GenManTree(root, header, args[0]))
}
