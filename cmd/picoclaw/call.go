package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host"
)

func newCall(a *app) *cobra.Command {
	var agent, output, arguments string
	cmd := &cobra.Command{
		Use:   "call TOOL [key=value ...]",
		Short: "Call a tool",
		Example: strings.Trim(`
  picoclaw call read_file path=go.mod
  picoclaw call exec command='go test ./...' timeout=120
  picoclaw call write_file --json '{"path":"a.txt","content":"hello\n"}'
  cat args.json | picoclaw call edit_file --json - --output json`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("call what? `picoclaw tools` lists the tools")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, h, done, err := a.session(agent, host.CLI)
			if err != nil {
				return err
			}
			defer done()
			raw, err := (&callArguments{pairs: args[1:], json: arguments, isJSON: cmd.Flags().Changed("json"), stdin: a.stdin}).read(s, args[0])
			if err != nil {
				return err
			}
			if err := h.Ready(); err != nil {
				return cantStart(err)
			}
			return a.showResult(args[0], s.Call(cmd.Context(), args[0], raw, nil), output)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent to call for (default: the first one)")
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	cmd.Flags().StringVar(&arguments, "json", "", "the arguments as a JSON `object`, or - to read them from standard input")
	return cmd
}

// callResult is a call's result as scripts read it.
type callResult struct {
	ID         json.RawMessage `json:"id,omitempty"`
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      *host.Error     `json:"error,omitempty"`
	DurationMS float64         `json:"duration_ms"`
}

func newCallResult(r *host.Result) callResult {
	return callResult{
		OK:         r.Err == nil,
		Text:       r.Text,
		Structured: r.Structured,
		Error:      r.Err,
		DurationMS: float64(r.Duration.Microseconds()) / 1000,
	}
}

// showResult prints a result: what the tool says on standard output, what went wrong on standard error.
func (a *app) showResult(tool string, r *host.Result, output string) error {
	if output == "json" {
		if err := a.printJSON(newCallResult(r)); err != nil {
			return err
		}
	} else if r.Text != "" {
		fmt.Fprint(a.stdout, r.Text)
		if !strings.HasSuffix(r.Text, "\n") {
			fmt.Fprintln(a.stdout)
		}
	}
	if r.Err == nil {
		return nil
	}
	if output == "text" {
		first, more, _ := strings.Cut(r.Err.Message, "\n")
		fmt.Fprintf(a.stderr, "[ERROR] tool: Tool execution failed {tool=%s, error=%s}\n", tool, first)
		if more != "" {
			fmt.Fprintln(a.stderr, more)
		}
		if r.Err.Rule != "" {
			fmt.Fprintln(a.stderr, "  rule: "+r.Err.Rule)
		}
		if r.Err.Hint != "" {
			fmt.Fprintln(a.stderr, "  hint: "+r.Err.Hint)
		}
	}
	return &failure{code: exitFailed, err: errSaid}
}
