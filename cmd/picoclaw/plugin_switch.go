package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/nearest"
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
			if err := s.known(off); err != nil {
				return err
			}
			if !on {
				if err := s.Store.Disable(off); err != nil {
					return failed(err)
				}
				return a.said(output, off, off.String()+" is off")
			}
			still, err := s.Store.Enable(off)
			if err != nil {
				return failed(err)
			}
			if still != nil {
				return failed(fmt.Errorf("%s is still off: that of %s holds; enable that", off, still))
			}
			if why := s.offByConfig(off); why != "" {
				return failed(fmt.Errorf("%s is still off: the configuration says so, %s", off, why))
			}
			return a.said(output, off, off.String()+" is on")
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

// known refuses names that mean nothing here: a typo would switch nothing, silently. A glob may mean what comes later.
func (s *shelf) known(off store.Off) error {
	if agents := s.Config.AgentIDs(); isName(off.Agent) && !slices.Contains(agents, off.Agent) {
		return usage("there is no agent %q%s; the configuration has %s", off.Agent, nearest.Suggest(off.Agent, agents),
			strings.Join(agents, ", "))
	}
	if !isName(off.Plugin) {
		return nil
	}
	if !slices.Contains(s.IDs(), off.Plugin) {
		_, err := s.installed(off.Plugin)
		return err
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID != off.Plugin || !isName(off.Tool) {
			continue
		}
		var tools []string
		for _, t := range p.Tools {
			tools = append(tools, t.Spec.Name)
		}
		if !slices.Contains(tools, off.Tool) {
			return usage("plugin %s has no tool %q%s", off.Plugin, off.Tool, nearest.Suggest(off.Tool, tools))
		}
	}
	return nil
}

// isName reports whether a text is a name, neither empty nor a glob.
func isName(text string) bool { return text != "" && !strings.ContainsAny(text, "*?[{") }

// offByConfig returns the setting that keeps a plugin off, if one does.
func (s *shelf) offByConfig(off store.Off) string {
	if isName(off.Plugin) && !s.Config.Plugin(off.Plugin).Enabled {
		return "plugins." + off.Plugin + ".enabled"
	}
	return ""
}
