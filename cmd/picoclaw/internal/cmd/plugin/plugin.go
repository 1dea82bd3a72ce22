// Package plugin has the command plugin.
package plugin

import (
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
)

func NewCmdPlugin(f *cli.Factory) *cobra.Command {
	return cli.NewGroupCommand(&cobra.Command{
		Use:   "plugin",
		Short: "Install, inspect, enable and create plugins",
	}, NewCmdList(f, nil), NewCmdInfo(f, nil), NewCmdInstall(f, nil), NewCmdUpdate(f, nil), NewCmdEnable(f, true, nil),
		NewCmdEnable(f, false, nil),
		NewCmdRemove(f, nil), NewCmdVerify(f, nil), NewCmdReset(f, nil), NewCmdNew(f, nil), NewCmdCheck(f, nil))
}

// Options are the options of the commands that only show plugins, or reset one.
type Options struct {
	*cli.Factory
	id     string // empty for all plugins
	output cli.OutputFormat
}

// newCommand returns cmd with --output. args, if not nil, checks the arguments and stores the id of a plugin.
func newCommand(f *cli.Factory, cmd *cobra.Command, args func(id *string) cobra.PositionalArgs,
	run, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	if args != nil {
		cmd.Args, cmd.ValidArgsFunction = args(&o.id), completePlugins(f)
	}
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, run, runF)
}

// onePluginArgument returns an argument check that stores the id of a plugin.
func onePluginArgument(id *string) cobra.PositionalArgs {
	return cli.OneArgumentWithNoun(id, "the id of one plugin, as `picoclaw plugin list` shows it")
}

// optionalPluginArgument returns an argument check that stores the id of a plugin, if there is one.
func optionalPluginArgument(id *string) cobra.PositionalArgs {
	return cli.NoArgumentsOr(onePluginArgument(id))
}

// completePlugins proposes plugins.
func completePlugins(f *cli.Factory) cobra.CompletionFunc {
	return cli.NewFirstArgumentCompleter(func() []cobra.Completion {
		s, err := install.OpenPluginInventory(f)
		if err != nil {
			return nil
		}
		return s.PluginIDs()
	})
}
