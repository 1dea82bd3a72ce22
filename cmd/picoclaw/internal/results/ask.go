package results

import (
	"context"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/host/session"
)

// AskPerson puts a call that only a person can allow to the person who types.
func AskPerson(f *cli.Factory, ctx context.Context, lines *prompt.Reader, out *terminal.Writer, q session.ApprovalQuestion) bool {
	fmt.Fprintf(out, "%s %s %s\n  rule:   %s\n  reason: %s\n", out.Paint(terminal.Doubt, "allow?"), q.Tool,
		terminal.EscapeLine(ArgumentLine(q.Args)), q.Decision.Rule, terminal.EscapeLine(q.Decision.Reason))
	answer, err := lines.Ask(ctx, "make this call [y/N] ")
	return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"))
}
