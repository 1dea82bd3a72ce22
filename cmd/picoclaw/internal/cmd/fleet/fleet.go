// Package fleet has the commands fleet and worker.
package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
	"github.com/picoclaw/picoclaw/host/fleet"
)

// Options are the options of a command about a fleet.
type Options struct{ membership.FleetFlags }

func NewCmdFleet(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{Use: "fleet", Short: "Show and manage a fleet"}
	return cli.NewGroupCommand(cmd, NewCmdStatus(f, nil), NewCmdWhere(f, nil), NewCmdDrain(f, nil), NewCmdMove(f, nil), NewCmdConfig(f))
}

// StatusOptions are the options of `picoclaw fleet status`.
type StatusOptions struct {
	Options
	output cli.OutputFormat
}

func NewCmdStatus(f *cli.Factory, runF func(*StatusOptions) error) *cobra.Command {
	o := &StatusOptions{Options: Options{membership.FleetFlags{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the workers of a fleet and their agents",
	}
	o.AddFlags(cmd, "NATS `address` or identity file of the fleet (default: fleet.url)")
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRunContext(cmd, o, (*StatusOptions).showStatus, runF)
}

func (o *StatusOptions) showStatus(ctx context.Context) error {
	workers, agents, err := o.readStatus(ctx)
	if err != nil {
		return err
	}
	if o.output == cli.JSON {
		err = o.PrintJSON(map[string]any{"workers": workers, "agents": agents})
	} else {
		err = printFleet(o.Factory, workers, agents)
	}
	return cli.ReportedFailure(slices.ContainsFunc(agents, func(p fleet.Placed) bool { return !p.Alive }), err)
}

// readStatus returns the status of all workers and agents.
func (o *Options) readStatus(ctx context.Context) ([]fleet.Sign, []fleet.Placed, error) {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return nil, nil, err
	}
	f, err := o.JoinFleet(ctx, cfg, "status")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, membership.JoinTimeout)
	defer cancel()
	workers, agents, err := f.Status(ctx)
	if err != nil {
		return nil, nil, cli.FailedError(err)
	}
	return workers, agents, nil
}

func printFleet(f *cli.Factory, workers []fleet.Sign, agents []fleet.Placed) error {
	out := terminal.NewWriter(f.Out)
	table := terminal.NewTable("WORKER", "VERSION", "AGENTS", "RUNNING", "CONFIG", "STATE")
	for _, w := range workers {
		state, style := "serves", terminal.Plain
		switch {
		case w.Fault != "":
			state, style = w.Fault, terminal.Bad
		case w.Drained:
			state = "drained"
		}
		config := "own"
		if w.Config > 0 {
			config = strconv.FormatUint(w.Config, 10)
		}
		table.AddRow(w.Worker, w.Version, strconv.Itoa(w.Agents), strconv.Itoa(w.Running), config, terminal.CleanLine(state))
		table.StyleCell(0, terminal.Name)
		table.StyleCell(5, style)
	}
	if err := table.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	table = terminal.NewTable("AGENT", "WORKER", "EPOCH", "STATE")
	for _, p := range agents {
		state, style := "served", terminal.Plain
		switch {
		case p.Fault != "":
			state, style = terminal.CleanLine(p.Fault), terminal.Bad
		case p.From != "":
			state = "on its way from " + p.From
		case !p.Alive:
			state, style = "its worker is gone", terminal.Bad
		}
		table.AddRow(p.Agent, p.Worker, strconv.FormatUint(p.Epoch, 10), state)
		table.StyleCell(0, terminal.Name)
		table.StyleCell(3, style)
	}
	return table.Write(out)
}

// WhereOptions are the options of `picoclaw fleet where`.
type WhereOptions struct {
	Options
	agent string
}

func NewCmdWhere(f *cli.Factory, runF func(*WhereOptions) error) *cobra.Command {
	o := &WhereOptions{Options: Options{membership.FleetFlags{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "where AGENT",
		Short: "Show the worker of an agent",
		Args:  cli.OneArgumentWithNoun(&o.agent, "the name of one agent; `picoclaw fleet status` lists them"),
	}
	o.AddFlags(cmd, "NATS `address` or identity file of the fleet (default: fleet.url)")
	return cli.SetRunContext(cmd, o, (*WhereOptions).showWorker, runF)
}

func (o *WhereOptions) showWorker(ctx context.Context) error {
	_, agents, err := o.readStatus(ctx)
	if err != nil {
		return err
	}
	for _, p := range agents {
		if p.Agent == o.agent {
			fmt.Fprintln(o.Out, terminal.CleanLine(p.Worker))
			return nil
		}
	}
	return cli.FailedError(fmt.Errorf("no worker of the fleet has agent %q; `picoclaw fleet status` lists them", o.agent))
}
