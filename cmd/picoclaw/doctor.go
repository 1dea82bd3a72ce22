package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// doctorOptions are the options of `picoclaw doctor`.
type doctorOptions struct {
	*app

	agent  string
	output outputFormat
}

func newDoctor(a *app, runF func(*doctorOptions) error) *cobra.Command {
	o := &doctorOptions{app: a}

	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which walls hold on this machine, and what would raise the others",
		Long: "doctor builds the sandbox that the configuration asks for, attacks it from inside, and says of each wall whether\n" +
			"it is on, off or impossible here, why, and what would change that. It exits 1 if something that the configuration\n" +
			"asks for does not hold.",
		Example: "  picoclaw doctor\n  picoclaw doctor --agent reader --output json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	a.agentFlag(cmd, &o.agent, "the agent whose walls to examine (default: the first one)")
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

// examine examines the first agent's protections, as `picoclaw doctor` does.
func examine(ctx context.Context, a *app) error {
	return (&doctorOptions{app: a, output: textOutput}).run(ctx)
}

func (o *doctorOptions) run(ctx context.Context) error {
	s, h, done, err := o.sessionBy((*session.Host).Preview, o.agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	logger, err := o.logger(h.Config())
	if err != nil {
		return err
	}
	attack, err := selfTest()
	if err != nil {
		return cantStart(err)
	}
	report, err := doctor.Examine(ctx, doctor.Options{Policy: s.Policy(), SelfTest: attack, Logger: logger})
	if err != nil {
		return cantStart(err)
	}
	return o.showReport(report, o.output)
}

func (a *app) showReport(r *doctor.Report, output outputFormat) error {
	if output == jsonOutput {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "WALL\tSTATE\tWHY")
		for _, row := range r.Rows {
			fmt.Fprintf(table, "%s\t%s\t%s\n", row.Wall, row.State, row.Why)
			if row.Fix != "" {
				fmt.Fprintf(table, "\t\tto change it: %s\n", row.Fix)
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if !r.OK {
		return failed(errSaid)
	}
	return nil
}

// selfTestVerb is the verb by which this program, started in a sandbox, attacks it.
const selfTestVerb = "selftest"

// selfTest is the command that starts it so.
func selfTest() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	return []string{exe, selfTestVerb}, nil
}

// selfTestOptions are the options of `picoclaw selftest`.
type selfTestOptions struct{ *app }

func newSelfTest(a *app, runF func(*selfTestOptions) error) *cobra.Command {
	o := &selfTestOptions{app: a}
	return newCommand(&cobra.Command{
		Use:    selfTestVerb,
		Short:  "Attack the sandbox that this process is in",
		Hidden: true,
		RunE:   func(_ *cobra.Command, args []string) error { return o.run(args) },
	}, o, runF)
}

func (o *selfTestOptions) run(args []string) error { return selftest.Attack(args, o.stdout) }
