package call

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/session"
)

func NewCmdTools(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "tools",
		SuggestFor: []string{"list", "ls"},
		Short:      "List the tools that an agent may call",
	}
	return cli.NewCommonCommand(f, cmd, listTools, runF,
		cli.WithAgent("the agent whose tools to list (default: the first one)"), cli.WithOutput)
}

func listTools(o *cli.CommonOptions) error {
	s, _, done, err := hosts.OpenSession(o.Factory, o.Agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	if o.Output == cli.JSON {
		return o.PrintJSON(inventory.NewToolInfos(s.Tools()))
	}
	table := terminal.NewTable("TOOL", "PLUGIN", "RISK", "WHAT IT DOES")
	for _, t := range s.Tools() {
		doc := t.Spec.Doc
		if t.Deferred {
			doc = "(deferred) " + doc
		}
		table.AddRow(t.Name, t.Plugin, cmp.Or(t.Spec.Risk, "unknown"), doc)
		table.StyleCell(0, terminal.Name)
		table.StyleCell(2, riskStyle(t.Spec.Risk))
	}
	return table.Write(terminal.NewWriter(o.Out))
}

// riskStyle returns the colour of a risk.
func riskStyle(risk string) terminal.Style {
	switch risk {
	case "high":
		return terminal.Bad
	case "medium", "":
		return terminal.Doubt
	}
	return terminal.Plain
}
