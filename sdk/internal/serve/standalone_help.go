package serve

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func toolNames(m *pluginpb.Manifest) []string {
	names := make([]string, 0, len(m.Tools))
	for i := range m.Tools {
		names = append(names, m.Tools[i].Name)
	}
	return names
}

// findTool returns the tool with a short or full name.
func findTool(m *pluginpb.Manifest, name string) (*pluginpb.ToolSpec, error) {
	name = strings.TrimPrefix(name, m.ID+".")
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i], nil
		}
	}
	names := toolNames(m)
	if suggestion := suggest.DidYouMean(name, names); suggestion != "" {
		return nil, fmt.Errorf("no tool %q%s", name, suggestion)
	}
	return nil, fmt.Errorf("no tool %q; the tools are %s", name, strings.Join(names, ", "))
}

func printToolHelp(w io.Writer, spec *pluginpb.ToolSpec) error {
	input, err := spec.Input.Parse()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", spec.Name, spec.Doc)
	if len(input.Properties) == 0 {
		_, err = fmt.Fprintln(w, "It takes no arguments.")
		return err
	}
	fmt.Fprintln(w, "\nIt takes a JSON object:")
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		p := input.Properties[name]
		fmt.Fprintf(w, "  %-18s %s\n", name, strings.TrimSpace(strings.Join(describeArgument(name, input, p), "; ")))
	}
	return nil
}

// describeArgument returns the type, limits and meaning of an argument.
func describeArgument(name string, input, p *jsonschema.Schema) []string {
	kind := cmp.Or(p.Type, strings.Join(p.Types, " or "))
	if slices.Contains(input.Required, name) {
		kind += ", required"
	}
	all := []string{kind}
	if len(p.Enum) > 0 {
		values := make([]string, 0, len(p.Enum))
		for _, v := range p.Enum {
			values = append(values, fmt.Sprint(v))
		}
		all = append(all, "one of "+strings.Join(values, ", "))
	}
	if p.Default != nil {
		all = append(all, "default "+string(p.Default))
	}
	if p.Description != "" {
		all = append(all, firstLine(p.Description))
	}
	return all
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
