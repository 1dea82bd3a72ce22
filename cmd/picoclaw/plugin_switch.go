package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/store"
)

// pluginSwitchOptions are the options of `picoclaw plugin switch`.
type pluginSwitchOptions struct {
	*app

	off    store.Off
	output outputFormat
}

// newPluginSwitch is `picoclaw plugin enable` and `disable`.
func newPluginSwitch(a *app, on bool, runF func(*pluginSwitchOptions) error) *cobra.Command {
	o := &pluginSwitchOptions{app: a}

	verb, short := "disable", "Switch a plugin off, or a tool of it, for all agents or one"
	long := `Takes effect at once, also in a host that runs: what is off is neither listed nor started, and MCP clients are told.`
	if on {
		verb, short = "enable", "Switch on again what was switched off"
		long = `Takes effect at once, also in a host that runs. What the configuration switches off stays off.`
	}
	cmd := &cobra.Command{
		Use:   verb + " ID|GLOB",
		Short: short,
		Long:  long,
		Example: "  picoclaw plugin " + verb + " grep\n  picoclaw plugin " + verb +
			" shell --agent guest\n  picoclaw plugin " + verb + " filesystem --tool 'rm*'",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(a),
		RunE: func(_ *cobra.Command, args []string) error {
			o.off.Plugin = args[0]
			s, err := a.shelf()
			if err != nil {
				return err
			}
			if err := s.Known(o.off); err != nil {
				return usage("%w", err)
			}
			if err := s.Switch(o.off, on); err != nil {
				return failed(err)
			}
			state := " is off"
			if on {
				state = " is on"
			}
			return a.said(o.output, o.off, o.off.String()+state)
		},
	}
	cmd.Flags().StringVar(&o.off.Tool, "tool", "", "`name` or glob of one of its tools (default: all)")
	cmd.Flags().StringVar(&o.off.Agent, "agent", "", "`id` or glob of an agent (default: all)")
	a.complete(cmd, "agent", a.agentNames)
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

// said tells what was done.
func (a *app) said(output outputFormat, value any, text string) error {
	if output == jsonOutput {
		return a.printJSON(value)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
