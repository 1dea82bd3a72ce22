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

// admin joins the fleet as who may tell workers what to do.
func (o *Options) admin(ctx context.Context) (*membership.Member, error) {
	cfg, err := o.Config("")
	if err != nil {
		return nil, err
	}
	f, err := o.Join(ctx, cfg, "admin")
	if err != nil {
		return nil, err
	}
	if err := f.Require(identity.Admin); err != nil {
		f.Close()
		return nil, cli.Fail(err)
	}
	return f, nil
}

// DrainOptions are the options of `picoclaw fleet drain`.
type DrainOptions struct {
	Options
	worker string
}

func NewCmdDrain(f *cli.Factory, runF func(*DrainOptions) error) *cobra.Command {
	o := &DrainOptions{Options: Options{membership.Flags{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "drain WORKER",
		Short: "Have a worker give all its agents away",
		Long: `Has a worker take no call any more, end what runs after gateway.drain_seconds, and give its agents to whichever worker has
them in its configuration. What is in their workspaces stays where it is: picoclaw fleet move brings it along. The worker
takes no agent again until it is started anew.`,
		Example: "  picoclaw fleet drain build1 --fleet ops.fleet",
		Args:    cli.OneName(&o.worker, "the name of one worker; `picoclaw fleet status` lists them"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.AddTo(cmd, "the fleet at this `address`, or that of an admin's identity file (default: fleet.url)")
	return cli.NewCommand(cmd, o, runF)
}

func (o *DrainOptions) run(ctx context.Context) error {
	f, err := o.admin(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Drain(ctx, o.worker); err != nil {
		return cli.Fail(err)
	}
	fmt.Fprintf(o.Out, "%s has no agents any more\n", o.worker)
	return nil
}

// MoveOptions are the options of `picoclaw fleet move`.
type MoveOptions struct {
	Options
	agent, worker string
}

func NewCmdMove(f *cli.Factory, runF func(*MoveOptions) error) *cobra.Command {
	o := &MoveOptions{Options: Options{membership.Flags{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "move AGENT WORKER",
		Short: "Bring an agent and its workspace to another worker",
		Long: `Has the agent's worker take no call any more and end what runs after gateway.drain_seconds, and brings what is in the
workspace to another worker, where the workspace has to be empty. That one compares it with what was sent, and has the
agent then; the copy is removed after that. Where anything goes wrong, the agent stays with the worker that has it, with
all that it had. Interrupted, the command ends and the move goes on.

Files, directories and links are moved, with their permissions and times: setuid, setgid and sticky bits are dropped, and
links get new times. What else is in a workspace (sockets, pipes), or more
than 8 GiB, is refused. The workspace has to be the agent's alone.`,
		Example: "  picoclaw fleet move site build2 --fleet ops.fleet",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("%s takes the names of an agent and a worker; `picoclaw fleet status` lists them", cli.CommandName(cmd))
			}
			o.agent, o.worker = args[0], args[1]
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.AddTo(cmd, "the fleet at this `address`, or that of an admin's identity file (default: fleet.url)")
	return cli.NewCommand(cmd, o, runF)
}

func (o *MoveOptions) run(ctx context.Context) error {
	if !config.IsID(o.agent) {
		return cli.Fail(fmt.Errorf("there is no agent %q; `picoclaw fleet status` shows which there are", o.agent))
	}
	f, err := o.admin(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Move(ctx, o.agent, o.worker, func(state string) { fmt.Fprintln(o.Err, terminal.Line(state)) })
	if err != nil {
		return cli.Fail(err)
	}
	fmt.Fprintf(o.Out, "%s has agent %s\n", o.worker, o.agent)
	return nil
}
