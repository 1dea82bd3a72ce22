package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/inventory"
)

func NewCmdList(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List plugins"}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(listPlugins), runF, cli.WithOutput)
}

func listPlugins(o *cli.CommonOptions, s *install.PluginInventory) error {
	all := s.ListPlugins()
	if o.Output == cli.JSON {
		for i := range all {
			all[i].Tools = nil
		}
		return o.PrintJSON(all)
	}
	table := terminal.NewTable("PLUGIN", "VERSION", "KIND", "STATE", "GRANTS", "WHAT IT IS FOR")
	for _, p := range all {
		state := p.State
		if p.Waiting != "" {
			state += ", " + p.Waiting + " waits"
		}
		table.AddRow(p.ID, p.Version, string(p.Kind), state, inventory.SummariseGrants(p.Granted), p.Doc)
		if p.State != "ok" {
			table.StyleCell(3, terminal.Bad)
		}
	}
	out := terminal.NewWriter(o.Out)
	if err := table.Write(out); err != nil {
		return err
	}
	for _, p := range all {
		if p.State == inventory.BrokenState {
			fmt.Fprintf(out, "%s %s: %s\n", out.Paint(terminal.Bad, "broken:"), p.ID, terminal.CleanLine(p.Why))
		}
	}
	return nil
}

func NewCmdInfo(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "info ID", Short: "Show a plugin's origin, grants and tools", ValidArgsFunction: completePlugins(f)}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(showInfo), runF, cli.WithArgument(onePluginArgument), cli.WithOutput)
}

func showInfo(o *cli.CommonOptions, s *install.PluginInventory) error {
	for _, p := range s.ListPlugins() {
		if p.ID == o.Argument {
			if o.Output == cli.JSON {
				return o.PrintJSON(p)
			}
			printPlugin(o.Factory, p)
			return nil
		}
	}
	_, err := s.FindLockEntry(o.Argument)
	return err
}

func printPlugin(f *cli.Factory, p inventory.PluginInfo) {
	out := terminal.NewWriter(f.Out)
	fmt.Fprintf(out, "%s %s  %s\n", out.Paint(terminal.Bold, p.ID), terminal.CleanLine(p.Version), terminal.CleanLine(p.Doc))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %-9s %s\n", name, terminal.CleanLine(value))
		}
	}
	state := p.State
	if p.Why != "" {
		state += ": " + p.Why
	}
	line("state", state)
	if p.Waiting != "" {
		line("waiting", p.Waiting+"; `picoclaw plugin update "+p.ID+"` shows the differences and asks")
	}
	line("kind", string(p.Kind))
	line("dir", p.Dir)
	line("source", p.Source)
	line("signed by", p.Signer)
	line("asks for", inventory.SummariseGrants(p.Asks))
	line("granted", inventory.SummariseGrants(p.Granted))
	for _, off := range p.Off {
		line("off", off.String())
	}
	for _, t := range p.Tools {
		line("tool", t.Name+"  "+t.Doc)
	}
}
