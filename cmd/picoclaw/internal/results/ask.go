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

// AskApproval shows a call that needs approval, reads the answer, and reports whether the call is approved.
func AskApproval(f *cli.Factory, ctx context.Context, lines *prompt.LineReader, out *terminal.Writer, q session.ApprovalQuestion) bool {
	fmt.Fprintf(out, "%s %s %s\n  rule:   %s\n  reason: %s\n", out.Paint(terminal.Doubt, "allow?"), q.Tool,
		terminal.EscapeLine(FormatArguments(q.Args)), q.Decision.Rule, terminal.EscapeLine(q.Decision.Reason))
	answer, err := lines.ReadAnswer(ctx, "make this call [y/N] ")
	return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"))
}
