// Package agent has the commands agent and agents.
package agent

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

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/session"
)

// Options are the options of `picoclaw agent`.
type Options struct {
	*cli.Factory
	agent, session, model, message string
	output                         cli.OutputFormat
	once                           bool // whether -m is set

	lines *prompt.LineReader
}

func NewCmdAgent(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "agent",
		SuggestFor: []string{"chat", "ask"},
		Short:      "Run an agent: a conversation, or one task with -m",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.once = cmd.Flags().Changed("message"); o.output == cli.JSON && !o.once {
				return cli.UsageErrorf("--output json needs a task: add -m TASK")
			}
			return cli.NoArguments(cmd, args)
		},
	}
	flags := cmd.Flags()
	f.AddAgentFlag(cmd, &o.agent, "the agent (default: the first one)")
	flags.StringVarP(&o.message, "message", "m", "", "`task` to do, or - to read it from standard input")
	flags.StringVarP(&o.session, "session", "s", "cli:default", "`name` of the session")
	flags.StringVar(&o.model, "model", "", "`name` of a model in model_list (default: the agent's)")
	f.AddOutputFlag(cmd, &o.output)
	cmd.AddCommand(NewCmdSessions(f, nil), NewCmdForget(f, nil))
	return cli.SetRunContext(cmd, o, (*Options).runAgent, runF)
}

func (o *Options) runAgent(ctx context.Context) error {
	if o.message == "-" {
		text, err := io.ReadAll(o.In)
		if err != nil {
			return cli.FailedError(fmt.Errorf("read the task: %w", err))
		}
		o.message = string(text)
	}
	if o.once && strings.TrimSpace(o.message) == "" {
		return cli.UsageErrorf("-m: the task is empty")
	}
	cfg, err := o.LoadConfig(o.agent)
	if err != nil {
		return err
	}
	all, err := hosts.OpenHostWithOptions(o.Factory, cfg, host.Options{Model: o.model})
	if err != nil {
		return err
	}
	defer hosts.CloseHost(o.Factory, all)
	if err = all.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	c, err := all.OpenConversation(ctx, o.agent, o.session, session.Main)
	if err != nil {
		return cli.StartError(err)
	}
	reason := "prompt_input_exit"
	if o.once {
		reason, err = "other", o.runTask(ctx, c)
	} else {
		err = o.runConversation(ctx, c, filepath.Join(cfg.Home().Path, "agent_history"))
	}
	return errors.Join(err, c.Close(context.WithoutCancel(ctx), reason))
}

// taskResult is the JSON output of `picoclaw agent -m`.
type taskResult struct {
	OK         bool             `json:"ok"`
	Text       string           `json:"text"`
	Stop       agent.StopReason `json:"stop,omitempty"`
	Session    string           `json:"session"`
	Iterations int              `json:"iterations"`
	Calls      int              `json:"calls"`
	Usage      agent.TokenUsage `json:"usage"`
	Error      string           `json:"error,omitempty"`
	DurationMS float64          `json:"duration_ms"`
}

// runTask makes the agent do one task. It asks no questions, because there may be no user.
func (o *Options) runTask(ctx context.Context, c *host.Conversation) error {
	view := &turnPrinter{out: terminal.NewWriter(o.Err)}
	began := time.Now()
	outcome, err := c.RunTurn(ctx, o.message, view.showEvent)
	if host.IsTurnEndedByHook(err) {
		fmt.Fprintln(o.Err, err)
		err = nil
	}
	if o.output == cli.JSON {
		all := taskResult{OK: err == nil, Text: outcome.Text, Stop: outcome.Stop, Session: o.session,
			Iterations: outcome.Iterations, Calls: outcome.Calls, Usage: outcome.Usage,
			DurationMS: float64(time.Since(began).Microseconds()) / 1000}
		if err != nil {
			all.Error = err.Error()
		}
		return cli.ReportedFailure(err != nil, o.PrintJSON(all))
	}
	if outcome.Text != "" {
		fmt.Fprintln(o.Out, terminal.NewWriter(o.Out).ReplaceControls(outcome.Text))
	}
	return cli.FailedError(err)
}

// runConversation lets a user talk to the agent.
func (o *Options) runConversation(ctx context.Context, c *host.Conversation, history string) error {
	out := terminal.NewWriter(o.Out)
	o.lines = prompt.NewLineReader(o.In, o.Out, history)
	defer o.lines.RestoreTerminal()
	// Ctrl-C is for the turn that runs; what ends the program is the end of the input, or of the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	id, resumed := c.Policy().AgentID(), ""
	if n := len(c.Messages()); n > 0 {
		resumed = fmt.Sprintf(", continued after %d messages", n)
	}
	if o.lines.IsInteractive() {
		fmt.Fprintf(out, "agent %s in %s, session %s%s; Ctrl-D quits\n", id, c.Policy().WorkspacePath(), terminal.CleanLine(o.session),
			resumed)
	}
	var failed bool
	for {
		line, err := o.lines.ReadLine(ctx, id+"> ")
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return cli.ReportedFailure(failed && !o.lines.IsInteractive(), nil)
		case err != nil:
			return cli.FailedError(fmt.Errorf("read the terminal: %w", err))
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := o.runTurn(ctx, c, line, out); err != nil {
			failed = true
			fmt.Fprintln(o.Err, "picoclaw: "+terminal.NewWriter(o.Err).ReplaceControls(err.Error()))
		}
	}
}

// runTurn runs one turn of the conversation.
func (o *Options) runTurn(ctx context.Context, c *host.Conversation, text string, out *terminal.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if o.lines.IsInteractive() {
		ctx = session.WithApprovalAsker(ctx, func(ctx context.Context, q session.ApprovalQuestion) bool {
			return results.AskApproval(o.Factory, ctx, o.lines, out, q)
		})
	}
	view := &turnPrinter{out: out, showText: true}
	_, err := c.RunTurn(ctx, text, view.showEvent)
	view.finishLine()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("the turn was ended; its changes remain")
	}
	return err
}
