package install

import (
	"fmt"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PrintFeatures prints the resources and prompts of a plugin.
func PrintFeatures(out *terminal.Out, m *pluginpb.Manifest) {
	for _, r := range m.Resources {
		fmt.Fprintf(out, "  resource  %s.%s  %s  %s\n", m.ID, r.Name, terminal.Line(r.URI), terminal.Line(terminal.Shorten(r.Doc, 100)))
	}
	for _, p := range m.Prompts {
		fmt.Fprintf(out, "  prompt    %s.%s  %s\n", m.ID, p.Name, terminal.Line(terminal.Shorten(p.Doc, 100)))
	}
}
