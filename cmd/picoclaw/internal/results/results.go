// Package results prints the results of calls and asks a person to approve calls.
//
// It must not know how calls are made.
package results

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// FormatArguments returns the arguments of a call on one line, in the syntax of `picoclaw call`.
func FormatArguments(args map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value, ok := args[name].(string)
		if !ok {
			text, err := json.Marshal(args[name])
			if err != nil {
				continue
			}
			value = string(text)
		} else if value == "" || strings.ContainsAny(value, " \t\n'\"") {
			value = fmt.Sprintf("%q", value)
		}
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, " ")
}

// CallResult is the JSON output about a call.
type CallResult struct {
	ID         json.RawMessage `json:"id,omitempty"`
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      *session.Error  `json:"error,omitempty"`
	DurationMS float64         `json:"duration_ms"`
}

func NewCallResult(r *session.Result) CallResult {
	return CallResult{
		OK:         r.Err == nil,
		Text:       r.Text,
		Structured: r.Structured,
		Error:      r.Err,
		DurationMS: float64(r.Duration.Microseconds()) / 1000,
	}
}

// ShowResult prints a result to standard output, or its error to standard error, and returns the exit code as error.
func ShowResult(f *cli.Factory, tool string, r *session.Result, output cli.OutputFormat) error {
	if output == cli.JSON {
		if err := f.PrintJSON(NewCallResult(r)); err != nil {
			return err
		}
	} else if r.Text != "" {
		fmt.Fprint(f.Out, terminal.NewWriter(f.Out).ReplaceControls(r.Text))
		if !strings.HasSuffix(r.Text, "\n") {
			fmt.Fprintln(f.Out)
		}
	}
	if r.Err == nil {
		return nil
	}
	if output == cli.Text {
		printToolError(f, tool, r.Err)
	}
	return &cli.ExitError{Code: exitCode(r), Err: cli.ErrReported}
}

// detailPrefix begins the later lines of an error, so that a tool's text can't imitate picoclaw's rules and hints.
const detailPrefix = "  | "

// lineBreakNormalizer replaces all kinds of line breaks with "\n".
var lineBreakNormalizer = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// splitDetails splits text into its first line, and the other lines with detailPrefix.
func splitDetails(text string) (first, more string) {
	first, more, found := strings.Cut(strings.TrimRight(lineBreakNormalizer.Replace(text), "\n"), "\n")
	if !found {
		return first, ""
	}
	return first, "\n" + detailPrefix + strings.ReplaceAll(more, "\n", "\n"+detailPrefix)
}

// printToolError prints an error of a call with its rule and hint.
func printToolError(f *cli.Factory, tool string, e *session.Error) {
	out := terminal.NewWriter(f.Err)
	first, more := splitDetails(e.Message)
	// all of it is the one value that the plugin has panicked with, and no explanation follows
	if e.Code == pluginpb.CodePanic {
		first, more = terminal.CleanLine(e.Message), ""
	}
	fmt.Fprintf(out, "%s tool: Tool execution failed {tool=%s, error=%s}%s\n",
		out.Paint(terminal.Bad, "[ERROR]"), out.ReplaceControls(tool), out.ReplaceControls(first), out.ReplaceControls(more))
	for _, own := range []struct{ label, text string }{{"  rule:", e.Rule}, {"  hint:", e.Hint}} {
		if own.text != "" {
			first, more := splitDetails(own.text)
			fmt.Fprintf(out, "%s %s\n", out.Paint(terminal.Faint, own.label), out.ReplaceControls(first+more))
		}
	}
}

// refusalExitCodes are the exit codes, by error code, of calls that the host refused before they reached the tool.
var refusalExitCodes = map[string]int{pluginpb.CodeInvalidArgument: cli.ExitUsage}

// exitCode returns the exit code of a call.
func exitCode(r *session.Result) int {
	if r.Err == nil {
		return cli.ExitOK
	}
	if code, ok := refusalExitCodes[r.Err.Code]; ok && !r.Answered {
		return code
	}
	return cli.ExitFailed
}

// AskApproval shows a call that needs approval, reads the answer, and reports whether the call is approved.
func AskApproval(f *cli.Factory, ctx context.Context, lines *prompt.LineReader, out *terminal.Writer, q session.ApprovalQuestion) bool {
	fmt.Fprintf(out, "%s %s %s\n  rule:   %s\n  reason: %s\n", out.Paint(terminal.Doubt, "allow?"), q.Tool,
		terminal.EscapeLine(FormatArguments(q.Args)), q.Decision.Rule, terminal.EscapeLine(q.Decision.Reason))
	answer, err := lines.ReadAnswer(ctx, "make this call [y/N] ")
	return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"))
}
