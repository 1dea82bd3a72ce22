package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host"
)

func newTools(a *app) *cobra.Command {
	var agent, output string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools that an agent may call",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, _, done, err := a.session(agent, host.CLI)
			if err != nil {
				return err
			}
			defer done()
			if output == "json" {
				return a.printJSON(toolList(s.Tools()))
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "TOOL\tPLUGIN\tRISK\tWHAT IT DOES")
			for _, t := range s.Tools() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, t.Plugin, t.Spec.Risk, t.Spec.Doc)
			}
			return table.Flush()
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent whose tools to list (default: the first one)")
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	return cmd
}

// listedTool is a tool as scripts read it.
type listedTool struct {
	Name        string           `json:"name"`
	Plugin      string           `json:"plugin"`
	Doc         string           `json:"doc"`
	Permissions []string         `json:"permissions,omitempty"`
	Risk        string           `json:"risk,omitempty"`
	ReadOnly    bool             `json:"read_only"`
	Input       *pluginpb.Schema `json:"input"`
	Output      *pluginpb.Schema `json:"output,omitempty"`
}

func toolList(tools []host.Tool) []listedTool {
	list := make([]listedTool, 0, len(tools))
	for _, t := range tools {
		list = append(list, listedTool{
			Name: t.Name, Plugin: t.Plugin, Doc: t.Spec.Doc, Permissions: t.Spec.Permissions, Risk: t.Spec.Risk,
			ReadOnly: t.Spec.ReadOnly, Input: t.Spec.Input, Output: t.Spec.Output,
		})
	}
	return list
}
