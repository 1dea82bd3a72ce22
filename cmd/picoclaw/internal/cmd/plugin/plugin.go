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
