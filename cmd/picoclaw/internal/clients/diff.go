package clients

import (
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/redact"
)

// PrintDiff shows a diff. What is beside the change may have secrets in it, and those are not shown.
func PrintDiff(out *terminal.Out, diff string) {
	for line := range strings.Lines(diff) {
		style := terminal.Plain
		switch line[0] {
		case '+':
			style = terminal.Good
		case '-':
			style = terminal.Bad
		case '@':
			style = terminal.Name
		}
		fmt.Fprintln(out, out.Paint(style, terminal.Line(redact.Text(strings.TrimSuffix(line, "\n")))))
	}
}
