package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// callOptions are the options of `picoclaw call`.
type callOptions struct {
	*app
	agent     string
	output    outputFormat
	arguments callArguments
	fleet     fleetFlags
}

// caller makes calls: a session of this machine, or one of a fleet.
type caller interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event)) *session.Result
}

func newCall(a *app, runF func(*callOptions) error) *cobra.Command {
	o := &callOptions{app: a, fleet: fleetFlags{app: a}, arguments: callArguments{stdin: a.stdin}}
	cmd := &cobra.Command{
		Use:        "call TOOL [key=value ...]",
		SuggestFor: []string{"run", "exec"},
		Short:      "Call a tool",
		Long: `Calls a tool as the agent would, and prints its result. Values are typed by the tool's schema. For an argument that is text,
not a path or a command, @FILE stands for what a file of yours holds, - for standard input, and @@ for an @ in front. A
list is given by repeating its key, or as JSON.

An error is one line that begins with [ERROR]; what else the tool says of it stands in lines that begin with |, and what refused
and what would help in a line each, rule: and hint:.

The exit code is 0 if the tool succeeded, 1 if it failed or was refused, 2 if the command line is wrong or the arguments
are not such as the tool takes, and 3 if picoclaw can't start.`,
		Example: strings.Trim(`
  picoclaw call read_file path=go.mod
  picoclaw call exec command='go test ./...' timeout=120
  picoclaw call --fleet tls://nats.example.com:4222 --agent site read_file path=go.mod
  picoclaw call write_file path=notes.md content=@draft.md
  date | picoclaw call append_file path=log.txt content=-
  picoclaw call write_file --json '{"path":"a.txt","content":"hello\n"}'
  cat args.json | picoclaw call edit_file --json - --output json`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("call what? `picoclaw tools` lists the tools")
			}
			return nil
		},
		ValidArgsFunction: completeCall(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.arguments.pairs, o.arguments.isJSON = args[1:], cmd.Flags().Changed("json")
			return o.run(cmd.Context(), args[0])
		},
	}
	a.agentFlag(cmd, &o.agent, "the agent to call for (default: the first one)")
	a.outputFlag(cmd, &o.output)
	jsonFlag(cmd, &o.arguments.json)
	o.fleet.flags(cmd, "call for an agent of the fleet at this `address`, or that of an identity file")
	return newCommand(cmd, o, runF)
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command, text *string) {
	cmd.Flags().StringVar(text, "json", "",
		"the arguments as a JSON `object`, as @FILE, or - to read them from standard input")
}

func (o *callOptions) run(ctx context.Context, tool string) error {
	s, ready, done, err := o.session(ctx)
	if err != nil {
		return err
	}
	defer done()
	raw, err := o.arguments.read(s, tool)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return cantStart(err)
	}
	return o.app.showResult(tool, o.app.call(ctx, s, tool, raw, nil), o.output)
}

// session opens a session, here or in a fleet.
func (o *callOptions) session(ctx context.Context) (s caller, ready func() error, done func(), err error) {
	if o.fleet.address == "" {
		s, h, done, err := o.app.session(o.agent, session.CLI)
		if err != nil {
			return nil, nil, nil, err
		}
		return s, h.Ready, done, nil
	}
	cfg, err := o.app.config("")
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := o.fleet.join(ctx, cfg, "call")
	if err != nil {
		return nil, nil, nil, err
	}
	var client *fleet.Client
	if err = f.needs(identity.Gateway, identity.Admin); err == nil {
		client, err = fleet.NewClient(f.Fleet)
	}
	if err == nil {
		s, err = client.Session(ctx, cmp.Or(o.agent, cfg.AgentIDs()[0]), session.CLI)
	}
	if err != nil {
		f.Close()
		return nil, nil, nil, cantStart(err)
	}
	return s, func() error { return nil }, f.Close, nil
}

// call calls a tool, and shows how far it is to a person who waits. ask puts a question to the person; nil where there
// is nobody to ask.
func (a *app) call(ctx context.Context, s caller, tool string, raw json.RawMessage,
	ask session.Asker) *session.Result {
	out := terminal.New(a.stderr)
	progress := terminal.NewProgress(out, tool)
	defer progress.Done()
	if ask != nil {
		ctx = session.WithAsker(ctx, func(ctx context.Context, q session.Question) bool {
			defer progress.Pause()()
			return ask(ctx, q)
		})
	}
	if !out.IsTerminal() {
		return s.Call(ctx, tool, raw, nil)
	}
	events, end := session.InCharacters(func(e session.Event) {
		if e.Log != nil {
			return // it is in the host's log
		}
		if e.Output == nil {
			progress.Show(e.Done, e.Total, e.Message)
		} else if line := strings.TrimSpace(string(e.Output)); line != "" {
			progress.Show(0, 0, line[strings.LastIndexByte(line, '\n')+1:])
		}
	})
	defer end()
	return s.Call(ctx, tool, raw, events)
}

// callResult is a call's result as scripts read it.
type callResult struct {
	ID         json.RawMessage `json:"id,omitempty"`
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      *session.Error  `json:"error,omitempty"`
	DurationMS float64         `json:"duration_ms"`
}

func newCallResult(r *session.Result) callResult {
	return callResult{
		OK:         r.Err == nil,
		Text:       r.Text,
		Structured: r.Structured,
		Error:      r.Err,
		DurationMS: float64(r.Duration.Microseconds()) / 1000,
	}
}

// showResult prints a result: what the tool says on standard output, what went wrong on standard error.
func (a *app) showResult(tool string, r *session.Result, output outputFormat) error {
	if output == jsonOutput {
		if err := a.printJSON(newCallResult(r)); err != nil {
			return err
		}
	} else if r.Text != "" {
		fmt.Fprint(a.stdout, terminal.New(a.stdout).Clean(r.Text))
		if !strings.HasSuffix(r.Text, "\n") {
			fmt.Fprintln(a.stdout)
		}
	}
	if r.Err == nil {
		return nil
	}
	if output == textOutput {
		a.showError(tool, r.Err)
	}
	return &failure{code: exitOf(r), err: errSaid}
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

func (a *app) showError(tool string, e *session.Error) {
	out := terminal.New(a.stderr)
	first, more := marked(e.Message)
	// all of it is the one value that the plugin has panicked with, and no explanation follows
	if e.Code == pluginpb.CodePanic {
		first, more = terminal.Line(e.Message), ""
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
