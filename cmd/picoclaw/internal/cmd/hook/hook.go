// Package hook has the command hook, which decides on a client's calls of the client's own tools.
package hook

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/clienthook"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Options are the options of `picoclaw hook`.
type Options struct {
	*cli.Factory
	agent  string
	client *clienthook.HookFormat
}

// maxEventBytes limits the size of a client's event, which may contain a whole file.
const maxEventBytes = 64 << 20

func NewCmdHook(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:       "hook CLIENT",
		Short:     "Decide on a call of a client's own tools, as its hook",
		ValidArgs: clienthook.ClientNames(),
		Args: func(_ *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return cli.UsageErrorf("name the client: %s", strings.Join(clienthook.ClientNames(), ", "))
			}
			if o.client, err = clienthook.FindFormat(args[0]); err != nil {
				return cli.UsageErrorf("%v", err)
			}
			return nil
		},
	}
	o.AddAgentFlag(cmd, &o.agent, "the agent whose policy holds outside a run (default: the first one)")
	return cli.SetRunContext(cmd, o, (*Options).runHook, runF)
}

// runHook prints the decision on a client's call. Errors become refusals, since clients take a failed hook as permission.
func (o *Options) runHook(ctx context.Context) error {
	d, err := o.readAndDecideEvent(ctx)
	if err != nil {
		d = guard.Decision{Verdict: guard.Deny, Rule: "hook", Reason: "the call can't be decided: " + err.Error()}
	}
	_, err = o.Out.Write(o.client.FormatAnswer(d))
	return cli.FailedError(err)
}

// readAndDecideEvent reads the event from standard input and decides on the call.
func (o *Options) readAndDecideEvent(ctx context.Context) (d guard.Decision, err error) {
	text, err := io.ReadAll(io.LimitReader(o.In, maxEventBytes+1))
	if err != nil {
		return d, err
	}
	if len(text) > maxEventBytes {
		return d, fmt.Errorf("the event has more than %d MB", maxEventBytes>>20)
	}
	call, err := o.client.ParseToolCall(text)
	switch {
	case err != nil:
		return d, err
	case call == nil:
		if run.IsInsideRun() && o.client.IsTurnEnd(text) {
			_ = run.EndTurn() // without it, the burst of changes ends later
		}
		return guard.Decision{Verdict: guard.Allow}, nil
	case run.IsInsideRun():
		return run.AskHostForDecision(call)
	}
	return o.decideByConfig(ctx, call)
}

// decideByConfig decides by the configuration, outside of `picoclaw run`, with the client's project as workspace.
func (o *Options) decideByConfig(ctx context.Context, call *session.ClientToolCall) (d guard.Decision, err error) {
	if o.Workspace == "" {
		if o.Workspace, _, err = run.FindProjectDir("", call.Dir); err != nil {
			return d, err
		}
	}
	s, _, done, err := hosts.OpenSession(o.Factory, o.agent, session.Hook)
	if err != nil {
		return d, err
	}
	defer done()
	home, err := os.UserHomeDir()
	if err != nil {
		return d, err
	}
	tools, err := s.NewClientToolGuard(session.ClientToolGuardOptions{Env: map[string]string{"HOME": filepath.Clean(home)}})
	if err != nil {
		return d, err
	}
	return tools.Decide(ctx, *call), nil
}
