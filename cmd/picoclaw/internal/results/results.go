// Package results shows results of calls, and asks a person about calls.
//
// It must not know how calls are made.
package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ArgumentLine is a call's arguments in one line, as they are typed for picoclaw call.
func ArgumentLine(args map[string]any) string {
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

// Call is a call's result as scripts read it.
type Call struct {
	ID         json.RawMessage `json:"id,omitempty"`
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      *session.Error  `json:"error,omitempty"`
	DurationMS float64         `json:"duration_ms"`
}

func NewCall(r *session.Result) Call {
	return Call{
		OK:         r.Err == nil,
		Text:       r.Text,
		Structured: r.Structured,
		Error:      r.Err,
		DurationMS: float64(r.Duration.Microseconds()) / 1000,
	}
}

// Show prints a result: what the tool says on standard output, what went wrong on standard error.
func Show(f *cli.Factory, tool string, r *session.Result, output cli.OutputFormat) error {
	if output == cli.JSON {
		if err := f.PrintJSON(NewCall(r)); err != nil {
			return err
		}
	} else if r.Text != "" {
		fmt.Fprint(f.Out, terminal.NewWriter(f.Out).Clean(r.Text))
		if !strings.HasSuffix(r.Text, "\n") {
			fmt.Fprintln(f.Out)
		}
	}
	if r.Err == nil {
		return nil
	}
	if output == cli.Text {
		showError(f, tool, r.Err)
	}
	return &cli.ExitError{Code: exitOf(r), Err: cli.ErrReported}
}

// further stands before all lines of an error but the first, so that what a plugin, a file or a command says there
// can't be taken for the lines that picoclaw has for rules and hints.
const further = "  | "

// lineBreaks are turned into one kind: any of them begins a line somewhere.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// marked returns a text's first line, and its further lines marked as such, each with a line break before it.
func marked(text string) (first, more string) {
	first, more, found := strings.Cut(strings.TrimRight(lineBreaks.Replace(text), "\n"), "\n")
	if !found {
		return first, ""
	}
	return first, "\n" + further + strings.ReplaceAll(more, "\n", "\n"+further)
}

func showError(f *cli.Factory, tool string, e *session.Error) {
	out := terminal.NewWriter(f.Err)
	first, more := marked(e.Message)
	// all of it is the one value that the plugin has panicked with, and no explanation follows
	if e.Code == pluginpb.CodePanic {
		first, more = terminal.CleanLine(e.Message), ""
	}
	fmt.Fprintf(out, "%s tool: Tool execution failed {tool=%s, error=%s}%s\n",
		out.Paint(terminal.Bad, "[ERROR]"), out.Clean(tool), out.Clean(first), out.Clean(more))
	for _, own := range []struct{ label, text string }{{"  rule:", e.Rule}, {"  hint:", e.Hint}} {
		if own.text != "" {
			first, more := marked(own.text)
			fmt.Fprintf(out, "%s %s\n", out.Paint(terminal.Faint, own.label), out.Clean(first+more))
		}
	}
}

// uncalled are the exit codes of errors, by their codes, with which a call did not get to its tool; that of all others
// is exitFailed. What the tool itself says of its arguments is no matter of the command line.
var uncalled = map[string]int{pluginpb.CodeInvalidArgument: cli.ExitUsage}

// exitOf is the exit code of a call.
func exitOf(r *session.Result) int {
	if r.Err == nil {
		return cli.ExitOK
	}
	if code, ok := uncalled[r.Err.Code]; ok && !r.Answered {
		return code
	}
	return cli.ExitFailed
}
