package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/session"
)

func newTools(a *app) *cobra.Command {
	var agent, output string
	cmd := &cobra.Command{
		Use:        "tools",
		SuggestFor: []string{"list", "ls"},
		Short:      "List the tools that an agent may call",
		Long: `Lists the tools that an agent may call. RISK is
what the plugin's author says of a wrong call. --output json has their schemas and hints too, as MCP clients get them.`,
		Example: strings.Trim(`
  picoclaw tools
  picoclaw tools --agent reader
  picoclaw tools --output json | jq '.[] | select(.name == "exec").input'`, "\n"),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, _, done, err := a.session(agent, session.CLI)
			if err != nil {
				return err
			}
			defer done()
			if output == "json" {
				return a.printJSON(inventory.Tools(s.Tools()))
			}
			table := terminal.NewTable("TOOL", "PLUGIN", "RISK", "WHAT IT DOES")
			for _, t := range s.Tools() {
				doc := t.Spec.Doc
				if t.Deferred {
					doc = "(deferred) " + doc
				}
				table.Row(t.Name, t.Plugin, cmp.Or(t.Spec.Risk, "unknown"), doc)
				table.Style(0, terminal.Name)
				table.Style(2, riskStyle(t.Spec.Risk))
			}
			return table.Write(terminal.New(a.stdout))
		},
	}
	a.agentFlag(cmd, &agent, "the agent whose tools to list (default: the first one)")
	a.outputFlag(cmd, &output)
	return cmd
}

func riskStyle(risk string) terminal.Style {
	switch risk {
	case "high":
		return terminal.Bad
	case "medium", "":
		return terminal.Doubt
	}
	return terminal.Plain
}
