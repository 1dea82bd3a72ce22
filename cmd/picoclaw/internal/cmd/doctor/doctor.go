// Package doctor has the commands doctor and selftest.
package doctor

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

func NewCmdDoctor(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "Check which protections work on this machine"}
	return cli.NewCommonContextCommand(f, cmd, reportProtections, runF,
		cli.WithAgent("the agent whose protections to check (default: the first one)"), cli.WithOutput)
}

// ReportProtections prints the report of `picoclaw doctor` about the first agent.
func ReportProtections(ctx context.Context, f *cli.Factory) error {
	return reportProtections(&cli.CommonOptions{Factory: f, Output: cli.Text}, ctx)
}

func reportProtections(o *cli.CommonOptions, ctx context.Context) error {
	s, h, done, err := hosts.OpenSessionWith(o.Factory, (*session.Host).OpenPreviewSession, o.Agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	logger, err := o.NewLogger(h.Config())
	if err != nil {
		return err
	}
	attack, err := hosts.SelfTestCommand()
	if err != nil {
		return cli.StartError(err)
	}
	report, err := doctor.Examine(ctx, doctor.Options{Policy: s.Policy(), SelfTest: attack, Logger: logger})
	if err != nil {
		return cli.StartError(err)
	}
	return printDoctorReport(o.Factory, report, o.Output)
}

func printDoctorReport(f *cli.Factory, r *doctor.Report, output cli.OutputFormat) error {
	if output == cli.JSON {
		if err := f.PrintJSON(r); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PROTECTION\tSTATE\tREASON")
		for _, row := range r.Findings {
			fmt.Fprintf(table, "%s\t%s\t%s\n", row.Protection, row.State, row.Why)
			if row.Fix != "" {
				fmt.Fprintf(table, "\t\tto change it: %s\n", row.Fix)
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return cli.ReportedFailure(!r.OK, nil)
}

// SelfTestOptions are the options of `picoclaw selftest`.
type SelfTestOptions struct {
	*cli.Factory
	arguments []string
}

func NewCmdSelfTest(f *cli.Factory, runF func(*SelfTestOptions) error) *cobra.Command {
	o := &SelfTestOptions{Factory: f}
	return cli.SetRun(&cobra.Command{
		Use:    hosts.SelfTestName,
		Short:  "Attack the sandbox that this process is in",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			o.arguments = args
			return nil
		},
	}, o, func(o *SelfTestOptions) error { return selftest.RunAttacks(o.arguments, o.Out) }, runF)
}
