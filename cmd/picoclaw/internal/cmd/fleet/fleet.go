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
type Options struct {
	membership.FleetFlags
	agent, worker string
	output        cli.OutputFormat
}

// The descriptions of --fleet.
const (
	memberFlagDoc = "NATS `address` or identity file of the fleet (default: fleet.url)"
	adminFlagDoc  = "NATS `address` or an admin's identity file (default: fleet.url)"
)

func newOptions(f *cli.Factory) *Options {
	return &Options{FleetFlags: membership.FleetFlags{Factory: f}}
}

func NewCmdFleet(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{Use: "fleet", Short: "Show and manage a fleet"}
	return cli.NewGroupCommand(cmd, NewCmdStatus(f, nil), NewCmdWhere(f, nil), NewCmdDrain(f, nil), NewCmdMove(f, nil), NewCmdConfig(f))
}

func NewCmdStatus(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := newOptions(f)
	cmd := &cobra.Command{Use: "status", Short: "Show the workers of a fleet and their agents"}
	f.AddOutputFlag(cmd, &o.output)
	o.AddFlags(cmd, memberFlagDoc)
	return cli.SetRunContext(cmd, o, (*Options).showStatus, runF)
}

func (o *Options) showStatus(ctx context.Context) error {
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
	return workers, agents, cli.FailedError(err)
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

func NewCmdWhere(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := newOptions(f)
	cmd := &cobra.Command{
		Use:   "where AGENT",
		Short: "Show the worker of an agent",
		Args:  cli.OneArgumentWithNoun(&o.agent, "the name of one agent; `picoclaw fleet status` lists them"),
	}
	o.AddFlags(cmd, memberFlagDoc)
	return cli.SetRunContext(cmd, o, (*Options).showWorker, runF)
}

func (o *Options) showWorker(ctx context.Context) error {
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
