package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/inventory"
)

// pluginListOptions are the options of `picoclaw plugin list`.
type pluginListOptions struct {
	*app

	output outputFormat
}

func newPluginList(a *app, runF func(*pluginListOptions) error) *cobra.Command {
	o := &pluginListOptions{app: a}

	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the plugins that there are",
		Example: "  picoclaw plugin list\n  picoclaw plugin list --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *pluginListOptions) run() error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	all := s.Plugins()
	if o.output == jsonOutput {
		for i := range all {
			all[i].Tools = nil
		}
		return o.printJSON(all)
	}
	table := terminal.NewTable("PLUGIN", "VERSION", "KIND", "STATE", "GRANTS", "WHAT IT IS FOR")
	for _, p := range all {
		state := p.State
		if p.Waiting != "" {
			state += ", " + p.Waiting + " waits"
		}
		table.Row(p.ID, p.Version, string(p.Kind), state, inventory.GrantText(p.Granted), p.Doc)
		if p.State != "ok" {
			table.Style(3, terminal.Bad)
		}
	}
	out := terminal.New(o.stdout)
	if err := table.Write(out); err != nil {
		return err
	}
	for _, p := range all {
		if p.State == inventory.Broken {
			fmt.Fprintf(out, "%s %s: %s\n", out.Paint(terminal.Bad, "broken:"), p.ID, terminal.Line(p.Why))
		}
	}
	return nil
}

// pluginInfoOptions are the options of `picoclaw plugin info`.
type pluginInfoOptions struct {
	*app

	output outputFormat
}

func newPluginInfo(a *app, runF func(*pluginInfoOptions) error) *cobra.Command {
	o := &pluginInfoOptions{app: a}

	cmd := &cobra.Command{
		Use:               "info ID",
		Short:             "Show a plugin: where it is from, what it may do, its tools",
		Example:           "  picoclaw plugin info filesystem",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(a),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *pluginInfoOptions) run(args []string) error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	for _, p := range s.Plugins() {
		if p.ID == args[0] {
			if o.output == jsonOutput {
				return o.printJSON(p)
			}
			o.showPlugin(p)
			return nil
		}
	}
	_, err = s.installed(args[0])
	return err
}

func (a *app) showPlugin(p inventory.Plugin) {
	out := terminal.New(a.stdout)
	fmt.Fprintf(out, "%s %s  %s\n", out.Paint(terminal.Bold, p.ID), terminal.Line(p.Version), terminal.Line(p.Doc))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %-9s %s\n", name, terminal.Line(value))
		}
	}
	state := p.State
	if p.Why != "" {
		state += ": " + p.Why
	}
	line("state", state)
	if p.Waiting != "" {
		line("waiting", p.Waiting+"; `picoclaw plugin update "+p.ID+"` shows what is different and asks")
	}
	line("kind", string(p.Kind))
	line("dir", p.Dir)
	line("source", p.Source)
	line("signed by", p.Signer)
	line("asks for", inventory.GrantText(p.Asks))
	line("granted", inventory.GrantText(p.Granted))
	for _, off := range p.Off {
		line("off", off.String())
	}
	for _, t := range p.Tools {
		line("tool", t.Name+"  "+t.Doc)
	}
}
