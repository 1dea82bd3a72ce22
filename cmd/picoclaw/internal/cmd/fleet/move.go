package fleet

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// joinAsAdmin joins the fleet as an admin.
func (o *Options) joinAsAdmin(ctx context.Context) (*membership.FleetMembership, error) {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return nil, err
	}
	f, err := o.JoinFleet(ctx, cfg, "admin")
	if err != nil {
		return nil, err
	}
	if err := f.RequireRole(identity.Admin); err != nil {
		f.Close()
		return nil, cli.FailedError(err)
	}
	return f, nil
}

func NewCmdDrain(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := newOptions(f)
	cmd := &cobra.Command{
		Use:   "drain WORKER",
		Short: "Move all agents off a worker",
		Args:  cli.OneArgumentWithNoun(&o.worker, "the name of one worker; `picoclaw fleet status` lists them"),
	}
	o.AddFlags(cmd, adminFlagDoc)
	return cli.SetRunContext(cmd, o, (*Options).drainWorker, runF)
}

func (o *Options) drainWorker(ctx context.Context) error {
	f, err := o.joinAsAdmin(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Drain(ctx, o.worker); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "%s has no agents any more\n", o.worker)
	return nil
}

func NewCmdMove(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := newOptions(f)
	cmd := &cobra.Command{
		Use:   "move AGENT WORKER",
		Short: "Move an agent and its workspace to another worker",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.UsageErrorf("%s takes the names of an agent and a worker; `picoclaw fleet status` lists them", cli.SubcommandPath(cmd))
			}
			o.agent, o.worker = args[0], args[1]
			return nil
		},
	}
	o.AddFlags(cmd, adminFlagDoc)
	return cli.SetRunContext(cmd, o, (*Options).moveAgent, runF)
}

func (o *Options) moveAgent(ctx context.Context) error {
	if !config.IsValidID(o.agent) {
		return cli.FailedError(fmt.Errorf("there is no agent %q; `picoclaw fleet status` shows which there are", o.agent))
	}
	f, err := o.joinAsAdmin(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Move(ctx, o.agent, o.worker, func(state string) { fmt.Fprintln(o.Err, terminal.CleanLine(state)) })
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "%s has agent %s\n", o.worker, o.agent)
	return nil
}
