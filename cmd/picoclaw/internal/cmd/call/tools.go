package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

func NewCmdTools(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "tools [TOOL]",
		SuggestFor:        []string{"list", "ls"},
		Short:             "List the tools that an agent may call, or one tool's arguments",
		ValidArgsFunction: completeTool(f),
	}
	args := func(name *string) cobra.PositionalArgs {
		return cli.NoArgumentsOr(cli.OneArgumentWithNoun(name, "one tool"))
	}
	return cli.NewCommonCommand(f, cmd, listTools, runF, cli.WithArgument(args),
		cli.WithAgent("the agent whose tools to list (default: the first one)"), cli.WithOutput)
}

func listTools(o *cli.CommonOptions) error {
	s, _, done, err := hosts.OpenSession(o.Factory, o.Agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	tools := s.Tools()
	if o.Argument != "" {
		if tools, err = findTool(tools, o.Argument); err != nil {
			return cli.UsageErrorf("%v", err)
		}
	}
	if o.Output == cli.JSON {
		return o.PrintJSON(inventory.NewToolInfos(tools))
	}
	if o.Argument != "" {
		return describeTool(terminal.NewWriter(o.Out), tools[0])
	}
	table := terminal.NewTable("TOOL", "PLUGIN", "RISK", "WHAT IT DOES")
	for _, t := range tools {
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

// findTool returns the tool with a name, with or without its plugin.
func findTool(tools []session.Tool, name string) ([]session.Tool, error) {
	var names []string
	for i, t := range tools {
		if name == t.Name || name == t.Plugin+"."+t.Spec.Name {
			return tools[i : i+1], nil
		}
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("there is no tool %q%s", name, suggest.DidYouMean(name, names))
}

// describeTool prints a tool's description and arguments.
func describeTool(out *terminal.Writer, t session.Tool) error {
	schema, err := t.Spec.Input.Parse()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n", out.ReplaceControls(t.Spec.Doc))
	table := terminal.NewTable("ARGUMENT", "TYPE", "", "WHAT IT IS")
	for _, name := range propertyNames(schema) {
		required := ""
		if slices.Contains(schema.Required, name) {
			required = "required"
		}
		table.AddRow(name, argumentType(schema.Properties[name]), required, schema.Properties[name].Description)
		table.StyleCell(0, terminal.Name)
	}
	return table.Write(out)
}

// argumentType returns the JSON types that an argument's value may have, except null.
func argumentType(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type), func(t string) bool { return t == "" || t == "null" })
	return cmp.Or(strings.Join(types, " or "), "any")
}
