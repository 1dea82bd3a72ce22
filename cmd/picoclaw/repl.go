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

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/session"
)

// replOptions is `picoclaw repl`: calls that a person types, one by one, in one session.
type replOptions struct {
	*app
	agent string

	session *session.Session
	out     *terminal.Out
	lines   *prompt.Reader
	failed  bool
}

func newREPL(a *app, runF func(*replOptions) error) *cobra.Command {
	r := &replOptions{app: a}
	cmd := &cobra.Command{
		Use:   "repl",
		Short: "Call tools interactively, with history and completion",
		Long: `Reads calls as for ` + "`picoclaw call`" + ` and prints their results, in one session: the plugins stay started. Tab completes
tools and arguments, the arrow keys go through what was typed before, Ctrl-C ends a call, Ctrl-D leaves. Words are taken
apart as in a shell, by quotes and backslashes alone. Where a decision is ask, you are asked.

What is typed is kept in $PICOCLAW_HOME/repl_history, which only you can read; not a line that begins with a space, or that
looks as if it had a secret in it. From a file or a pipe, each line is a call, and the exit code is 1 if one failed.`,
		Example: strings.Trim(`
  picoclaw repl
  picoclaw repl --agent reader
  echo 'list_dir path=.' | picoclaw repl`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	a.agentFlag(cmd, &r.agent, "the agent to call for (default: the first one)")
	return newCommand(cmd, r, runF)
}

func (r *replOptions) run(ctx context.Context) error {
	sess, h, done, err := r.app.session(r.agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	if err := h.Ready(); err != nil {
		return cantStart(err)
	}
	r.session, r.out = sess, terminal.New(r.app.stdout)
	r.lines = prompt.New(r.app.stdin, r.app.stdout, filepath.Join(h.Config().Home().Path, "repl_history"), r.complete)
	defer r.lines.Close()

	// Ctrl-C is for the call that runs; what ends the program is the end of the input, or of the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if r.lines.Interactive() {
		fmt.Fprintf(r.out, "agent %s in %s; `help` says what there is\n", sess.Policy().Agent(),
			sess.Policy().Workspace())
	}
	for {
		line, err := r.lines.Line(ctx, sess.Policy().Agent()+"> ")
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return r.end()
		case err != nil:
			return asFailed(fmt.Errorf("read what is typed: %w", err))
		}
		if leave := r.do(ctx, line); leave {
			return r.end()
		}
	}
}

func (r *replOptions) end() error {
	if r.failed && !r.lines.Interactive() {
		return failed(errSaid)
	}
	return nil
}

// do does what a line says, and reports whether it was the last.
func (r *replOptions) do(ctx context.Context, line string) (leave bool) {
	words, err := prompt.Split(line)
	if err != nil {
		r.complain(err)
		return false
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return false
	}
	switch verb(words[0]) {
	case "exit":
		return true
	case "help":
		err = r.help(words[1:])
	case "tools":
		err = r.help(nil)
	case "explain":
		err = r.explain(words[1:])
	default:
		err = r.call(ctx, words)
	}
	r.complain(err)
	return false
}

func (r *replOptions) complain(err error) {
	if err == nil {
		return
	}
	r.failed = true
	if text := err.Error(); text != "" {
		fmt.Fprintln(r.app.stderr, text)
	}
}

// arguments are the words behind a tool's name: key=value pairs, or one JSON object.
func (r *replOptions) arguments(words []string) *callArguments {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		return &callArguments{json: words[0], isJSON: true}
	}
	return &callArguments{pairs: words, stdin: strings.NewReader("")}
}

func (r *replOptions) call(ctx context.Context, words []string) error {
	raw, err := r.arguments(words[1:]).read(r.session, words[0])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var ask session.Asker
	if r.lines.Interactive() {
		ask = r.ask
	}
	return r.app.showResult(words[0], r.app.call(ctx, r.session, words[0], raw, ask), "text")
}

func (r *replOptions) ask(ctx context.Context, q session.Question) bool {
	return r.app.askWith(ctx, r.lines, r.out, q)
}

func (r *replOptions) explain(words []string) error {
	if len(words) == 0 {
		return errors.New("explain what? Say: explain TOOL key=value …")
	}
	raw, err := r.arguments(words[1:]).read(r.session, words[0])
	if err != nil {
		return err
	}
	return r.app.showDecision(newExplanation(r.session.Explain(words[0], raw)), "text")
}
