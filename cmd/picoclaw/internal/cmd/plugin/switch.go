package plugin

import (
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/store"
)

// EnableOptions are the options of `picoclaw plugin enable` and `disable`.
type EnableOptions struct {
	*cli.Factory
	off    store.DisableRule
	output cli.OutputFormat
}

// NewCmdEnable returns `picoclaw plugin enable`, or `disable` if on is false.
func NewCmdEnable(f *cli.Factory, on bool, runF func(*EnableOptions) error) *cobra.Command {
	o := &EnableOptions{Factory: f}
	verb, short := "disable", "Disable a plugin, or one of its tools, for all agents or one"
	if on {
		verb, short = "enable", "Enable a plugin or tool again"
	}
	cmd := &cobra.Command{
		Use:               verb + " ID|GLOB",
		Short:             short,
		Args:              onePluginArgument(&o.off.Plugin),
		ValidArgsFunction: completePlugins(f),
	}
	cmd.Flags().StringVar(&o.off.Tool, "tool", "", "`name` or glob of one of its tools (default: all)")
	cmd.Flags().StringVar(&o.off.Agent, "agent", "", "`id` or glob of an agent (default: all)")
	f.SetFlagCompletion(cmd, "agent", f.CompleteAgents)
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, func(o *EnableOptions) error { return o.setEnabled(on) }, runF)
}

func (o *EnableOptions) setEnabled(on bool) error {
	if on && o.off == (store.DisableRule{Plugin: "*"}) {
		if err := replaceBrokenLockFile(o.Factory); err != nil {
			return err
		}
	}
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	if err := s.CheckRuleNames(o.off); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if err := s.SetToolEnabled(o.off, on); err != nil {
		return cli.FailedError(err)
	}
	state := " is off"
	if on {
		state = " is on"
	}
	return o.PrintTextOrJSON(o.output, o.off, o.off.String()+state)
}

// replaceBrokenLockFile creates a new lock file if the current one can't be read.
func replaceBrokenLockFile(f *cli.Factory) error {
	home, err := f.FindHome()
	if err == nil {
		err = store.NewStore(home).ResetLockFile()
	}
	return cli.FailedError(err)
}
