package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/session"
)

// agentOptions is `picoclaw agent`.
type agentOptions struct {
	*app
	agent, session, model, message string
	output                         outputFormat

	lines *prompt.Reader
}

func newAgent(a *app, runF func(*agentOptions) error) *cobra.Command {
	o := &agentOptions{app: a}
	cmd := &cobra.Command{
		Use:        "agent",
		SuggestFor: []string{"chat", "ask"},
		Short:      "Have an agent work: talk to it, or give it one task with -m",
		Long: `Runs an agent with the model that the configuration gives it (model_list and agents.defaults.model) and with its tools, each
call of which is decided, confined and recorded like any other. Without -m you talk to it: Ctrl-C ends a turn, Ctrl-D
leaves, and where a decision is ask, you are asked. With -m it does one task; its last words are the result.

What was said is kept below sessions in the instance root, and goes on with the next turn in a session of that name.`,
		Example: strings.Trim(`
  picoclaw agent
  picoclaw agent -m 'what does this repository do?'
  picoclaw agent -s review --agent reader -m - < task.md
  picoclaw agent -m 'fix the tests' --output json
  picoclaw agent sessions`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.Flags().Changed("message"))
		},
	}
	flags := cmd.Flags()
	a.agentFlag(cmd, &o.agent, "the agent (default: the first one)")
	flags.StringVarP(&o.message, "message", "m", "", "the `task`, or - to read it from standard input")
	flags.StringVarP(&o.session, "session", "s", "cli:default", "`name` of the session")
	flags.StringVar(&o.model, "model", "", "the `name` of the model in model_list, in place of the agent's")
	a.outputFlag(cmd, &o.output)
	cmd.AddCommand(newAgentSessions(a, nil), newAgentForget(a, nil))
	return newCommand(cmd, o, runF)
}

func (o *agentOptions) run(ctx context.Context, once bool) error {
	if o.output == jsonOutput && !once {
		return usage("--output json is about one task: give it with -m")
	}
	if o.message == "-" {
		text, err := io.ReadAll(o.app.stdin)
		if err != nil {
			return failed(fmt.Errorf("read the task: %w", err))
		}
		o.message = string(text)
	}
	if once && strings.TrimSpace(o.message) == "" {
		return usage("-m: the task is empty")
	}
	cfg, err := o.app.config(o.agent)
	if err != nil {
		return err
	}
	all, err := o.app.assemble(cfg, host.Options{Model: o.model})
	if err != nil {
		return err
	}
	defer o.app.close(all)
	if err := all.Ready(); err != nil {
		return cantStart(err)
	}
	c, err := all.Converse(ctx, o.agent, o.session, session.Main)
	if err != nil {
		return cantStart(err)
	}
	reason := "prompt_input_exit"
	if once {
		reason, err = "other", o.once(ctx, c)
	} else {
		err = o.talk(ctx, c, filepath.Join(cfg.Home().Path, "agent_history"))
	}
	return errors.Join(err, c.Close(context.WithoutCancel(ctx), reason))
}

// answered is one task's outcome as scripts read it.
type answered struct {
	OK         bool        `json:"ok"`
	Text       string      `json:"text"`
	Stop       agent.Stop  `json:"stop,omitempty"`
	Session    string      `json:"session"`
	Iterations int         `json:"iterations"`
	Calls      int         `json:"calls"`
	Usage      agent.Usage `json:"usage"`
	Error      string      `json:"error,omitempty"`
	DurationMS float64     `json:"duration_ms"`
}

// once has the agent do one task. Nobody is asked: there may be nobody.
func (o *agentOptions) once(ctx context.Context, c *host.Conversation) error {
	shown := &turnView{out: terminal.New(o.app.stderr)}
	began := time.Now()
	outcome, err := c.Turn(ctx, o.message, shown.event)
	if host.Ended(err) {
		fmt.Fprintln(o.app.stderr, err)
		err = nil
	}
	if o.output == jsonOutput {
		all := answered{OK: err == nil, Text: outcome.Text, Stop: outcome.Stop, Session: o.session,
			Iterations: outcome.Iterations, Calls: outcome.Calls, Usage: outcome.Usage,
			DurationMS: float64(time.Since(began).Microseconds()) / 1000}
		if err != nil {
			all.Error = err.Error()
		}
		if printErr := o.app.printJSON(all); printErr != nil {
			return printErr
		}
		if err != nil {
			return failed(errSaid)
		}
		return nil
	}
	if outcome.Text != "" {
		fmt.Fprintln(o.app.stdout, terminal.New(o.app.stdout).Clean(outcome.Text))
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// talk has a person talk to the agent.
func (o *agentOptions) talk(ctx context.Context, c *host.Conversation, history string) error {
	out := terminal.New(o.app.stdout)
	o.lines = prompt.New(o.app.stdin, o.app.stdout, history, func(string) prompt.Proposals { return prompt.Proposals{} })
	defer o.lines.Close()
	// Ctrl-C is for the turn that runs; what ends the program is the end of the input, or of the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	id, said := c.Policy().Agent(), ""
	if n := len(c.Messages()); n > 0 {
		said = fmt.Sprintf(", which goes on after %d messages", n)
	}
	if o.lines.Interactive() {
		fmt.Fprintf(out, "agent %s in %s, session %s%s; Ctrl-D leaves\n", id, c.Policy().Workspace(), terminal.Line(o.session),
			said)
	}
	var wrong bool
	for {
		line, err := o.lines.Line(ctx, id+"> ")
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			if wrong && !o.lines.Interactive() {
				return failed(errSaid)
			}
			return nil
		case err != nil:
			return asFailed(fmt.Errorf("read what is typed: %w", err))
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := o.turn(ctx, c, line, out); err != nil {
			wrong = true
			fmt.Fprintln(o.app.stderr, "picoclaw: "+terminal.New(o.app.stderr).Clean(err.Error()))
		}
	}
}

// turn is one turn of a person's.
func (o *agentOptions) turn(ctx context.Context, c *host.Conversation, text string, out *terminal.Out) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if o.lines.Interactive() {
		ctx = session.WithAsker(ctx, func(ctx context.Context, q session.Question) bool {
			return o.app.askWith(ctx, o.lines, out, q)
		})
	}
	shown := &turnView{out: out, text: true}
	_, err := c.Turn(ctx, text, shown.event)
	shown.newLine()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("the turn was ended; what was done until then is kept")
	}
	return err
}

// askWith puts a call that only a person can allow to the person who types.
func (a *app) askWith(ctx context.Context, lines *prompt.Reader, out *terminal.Out, q session.Question) bool {
	fmt.Fprintf(out, "%s %s %s\n  rule:   %s\n  reason: %s\n", out.Paint(terminal.Doubt, "allow?"), q.Tool,
		terminal.Line(argumentLine(q.Args)), q.Decision.Rule, terminal.Line(q.Decision.Reason))
	answer, err := lines.Ask(ctx, "make this call [y/N] ")
	return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"))
}
