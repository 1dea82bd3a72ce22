// Package call has the commands that call tools or decide on calls: call, batch, tools and explain.
package call

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/session"
)

// Options are the options of `picoclaw call`.
type Options struct {
	*cli.Factory
	agent     string
	tool      string
	output    cli.OutputFormat
	arguments callArguments
	fleet     membership.FleetFlags
}

// toolCaller calls tools in a session on this machine or of a fleet.
type toolCaller interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
}

func NewCmdCall(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f, fleet: membership.FleetFlags{Factory: f}, arguments: callArguments{stdin: f.In}}
	cmd := &cobra.Command{
		Use:        "call TOOL [key=value ...]",
		SuggestFor: []string{"run", "exec"},
		Short:      "Call a tool",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageErrorf("name a tool; `picoclaw tools` lists them")
			}
			o.tool, o.arguments.pairs, o.arguments.isJSON = args[0], args[1:], cmd.Flags().Changed("json")
			return nil
		},
		ValidArgsFunction: completeCall(f),
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent to call for (default: the first one)")
	f.AddOutputFlag(cmd, &o.output)
	addJSONFlag(cmd, &o.arguments.json)
	o.fleet.AddFlags(cmd, "call a fleet's agent: NATS `address` or identity file")
	return cli.SetRunContext(cmd, o, (*Options).runCall, runF)
}

// addJSONFlag adds --json.
func addJSONFlag(cmd *cobra.Command, text *string) {
	cmd.Flags().StringVar(text, "json", "",
		"arguments as a JSON `object`, @FILE, or - for standard input")
}

func (o *Options) runCall(ctx context.Context) error {
	s, ready, done, err := o.openToolCaller(ctx)
	if err != nil {
		return err
	}
	defer done()
	raw, err := o.arguments.encodeArguments(s, o.tool)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return cli.StartError(err)
	}
	return results.ShowResult(o.Factory, o.tool, callWithProgress(o.Factory, ctx, s, o.tool, raw), o.output)
}

// openToolCaller opens a session, in the fleet if --fleet is set. Call ready before the first call, done at the end.
func (o *Options) openToolCaller(ctx context.Context) (s toolCaller, ready func() error, done func(), err error) {
	if o.fleet.Address == "" {
		local, h, done, openErr := hosts.OpenSession(o.Factory, o.agent, session.CLI)
		if openErr != nil {
			return nil, nil, nil, openErr
		}
		return local, h.PrepareForCalls, done, nil
	}
	cfg, err := o.LoadConfig("")
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := o.fleet.JoinFleet(ctx, cfg, "call")
	if err != nil {
		return nil, nil, nil, err
	}
	var client *fleet.Client
	if err = f.RequireRole(identity.Gateway, identity.Admin); err == nil {
		client, err = fleet.NewClient(f.Fleet)
	}
	if err == nil {
		s, err = client.Session(ctx, cmp.Or(o.agent, cfg.AgentIDs()[0]), session.CLI)
	}
	if err != nil {
		f.Close()
		return nil, nil, nil, cli.StartError(err)
	}
	return s, func() error { return nil }, f.Close, nil
}

// callWithProgress calls a tool and shows its progress on a terminal.
func callWithProgress(f *cli.Factory, ctx context.Context, s toolCaller, tool string, raw json.RawMessage) *session.Result {
	out := terminal.NewWriter(f.Err)
	progress := terminal.StartProgress(out, tool)
	defer progress.Stop()
	if !out.IsTerminal() {
		return s.Call(ctx, tool, raw, nil)
	}
	events, end := session.ForwardWholeCharacters(func(e session.CallEvent) {
		if e.Log != nil {
			return // it is in the host's log
		}
		if e.Output == nil {
			progress.Update(e.Done, e.Total, e.Message)
		} else if line := strings.TrimSpace(string(e.Output)); line != "" {
			progress.Update(0, 0, line[strings.LastIndexByte(line, '\n')+1:])
		}
	})
	defer end()
	return s.Call(ctx, tool, raw, events)
}
