package install

import (
	"fmt"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PrintResourcesAndPrompts prints the resources and prompts of a plugin, one per line.
func PrintResourcesAndPrompts(out *terminal.Writer, m *pluginpb.Manifest) {
	for _, r := range m.Resources {
		fmt.Fprintf(out, "  resource  %s.%s  %s  %s\n", m.ID, r.Name, terminal.CleanLine(r.URI), terminal.CleanLine(terminal.Shorten(r.Doc, 100)))
	}
	for _, p := range m.Prompts {
		fmt.Fprintf(out, "  prompt    %s.%s  %s\n", m.ID, p.Name, terminal.CleanLine(terminal.Shorten(p.Doc, 100)))
	}
}
