package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/trial"
)

// checkResult is the JSON output of `picoclaw plugin check`.
type checkResult struct {
	OK       bool            `json:"ok"`
	Findings []trial.Finding `json:"findings"`
}

// CheckOptions are the options of `picoclaw plugin check`.
type CheckOptions struct {
	*cli.Factory
	source string // directory or archive
	output cli.OutputFormat
	strict bool
}

func NewCmdCheck(f *cli.Factory, runF func(*CheckOptions) error) *cobra.Command {
	o := &CheckOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "check DIR|ARCHIVE",
		Short: "Test a plugin against the plugin contract",
		Args:  cli.OneArgument(&o.source, "name one directory or archive (.tar.gz, .tgz or .zip) of a plugin"),
	}
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as failures")
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRunContext(cmd, o, (*CheckOptions).checkPlugin, runF)
}

func (o *CheckOptions) checkPlugin(ctx context.Context) error {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	logger, err := o.NewLogger(cfg)
	if err != nil {
		return err
	}
	findings, err := trial.TestPlugin(ctx, trial.TrialOptions{Source: o.source, Logger: logger})
	if err != nil {
		return cli.StartError(err)
	}
	result := checkResult{OK: true, Findings: findings}
	for _, f := range findings {
		if f.Grade == trial.Bad || o.strict && f.Grade == trial.Poor {
			result.OK = false
		}
	}
	return cli.ReportedFailure(!result.OK, printFindings(o.Factory, result, o.output))
}

func printFindings(f *cli.Factory, result checkResult, output cli.OutputFormat) error {
	if output == cli.JSON {
		return f.PrintJSON(result)
	}
	out := terminal.NewWriter(f.Out)
	styles := map[trial.FindingSeverity]terminal.Style{trial.Good: terminal.Good, trial.Poor: terminal.Doubt,
		trial.Bad: terminal.Bad}
	for _, f := range result.Findings {
		fmt.Fprintf(out, "%s  %s: %s\n", out.Paint(styles[f.Grade], fmt.Sprintf("%-7s", f.Grade)), terminal.CleanLine(f.Check),
			terminal.CleanLine(f.What))
	}
	return nil
}
