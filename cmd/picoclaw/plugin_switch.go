package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/store"
)

// newPluginSwitch is `picoclaw plugin enable` and `disable`.
func newPluginSwitch(a *app, on bool) *cobra.Command {
	var off store.Off
	var output string
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
		ValidArgsFunction: a.pluginNames,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format(output); err != nil {
				return err
			}
			off.Plugin = args[0]
			s, err := a.shelf()
			if err != nil {
				return err
			}
			if err := s.Known(off); err != nil {
				return usage("%w", err)
			}
			if err := s.Switch(off, on); err != nil {
				return failed(err)
			}
			state := " is off"
			if on {
				state = " is on"
			}
			return a.said(output, off, off.String()+state)
		},
	}
	cmd.Flags().StringVar(&off.Tool, "tool", "", "`name` or glob of one of its tools (default: all)")
	cmd.Flags().StringVar(&off.Agent, "agent", "", "`id` or glob of an agent (default: all)")
	a.complete(cmd, "agent", a.agentNames)
	a.outputFlag(cmd, &output)
	return cmd
}

// said tells what was done.
func (a *app) said(output string, value any, text string) error {
	if output == "json" {
		return a.printJSON(value)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
