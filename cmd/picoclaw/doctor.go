package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

func newDoctor(a *app) *cobra.Command {
	var agent, output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which walls hold on this machine, and what would raise the others",
		Long: "doctor builds the sandbox that the configuration asks for, attacks it from inside, and says of each wall whether\n" +
			"it is on, off or impossible here, why, and what would change that. It exits 1 if something that the configuration\n" +
			"asks for does not hold.",
		Example: "  picoclaw doctor\n  picoclaw doctor --agent reader --output json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, h, done, err := a.sessionBy((*session.Host).Preview, agent, session.CLI)
			if err != nil {
				return err
			}
			defer done()
			logger, err := a.logger(h.Config())
			if err != nil {
				return err
			}
			attack, err := selfTest()
			if err != nil {
				return cantStart(err)
			}
			report, err := doctor.Examine(cmd.Context(), doctor.Options{Policy: s.Policy(), SelfTest: attack, Logger: logger})
			if err != nil {
				return cantStart(err)
			}
			return a.showReport(report, output)
		},
	}
	a.agentFlag(cmd, &agent, "the agent whose walls to examine (default: the first one)")
	a.outputFlag(cmd, &output)
	return cmd
}

func (a *app) showReport(r *doctor.Report, output string) error {
	if output == "json" {
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

func newSelfTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    selfTestVerb,
		Short:  "Attack the sandbox that this process is in",
		Hidden: true,
		RunE:   func(_ *cobra.Command, args []string) error { return selftest.Attack(args, a.stdout) },
	}
}
