package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/trial"
)

// checkedPlugin is what was found, as scripts read it.
type checkedPlugin struct {
	OK       bool            `json:"ok"`
	Findings []trial.Finding `json:"findings"`
}

func newPluginCheck(a *app) *cobra.Command {
	var output string
	var strict bool
	cmd := &cobra.Command{
		Use:   "check DIR|ARCHIVE",
		Short: "Say whether a plugin keeps the contract",
		Long: `Looks at the package, and then tries the plugin in a sandbox with a home and a workspace to throw away: that it starts and says
of itself what its plugin.json says, that every tool answers, within its schema, also when calls are cancelled and made at
once, and that it ends when it is asked to. The plugin is run, with all that it asks for.`,
		Example: "  picoclaw plugin check wordcount/bin/wordcount\n  picoclaw plugin check --strict wordcount-1.0.0.tar.gz --output json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one directory or archive (.tar.gz, .tgz or .zip) of a plugin")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format(output); err != nil {
				return err
			}
			cfg, err := a.config("")
			if err != nil {
				return err
			}
			logger, err := a.logger(cfg)
			if err != nil {
				return err
			}
			found, err := trial.Run(cmd.Context(), trial.Options{Source: args[0], Logger: logger})
			if err != nil {
				return cantStart(err)
			}
			result := checkedPlugin{OK: true, Findings: found}
			for _, f := range found {
				if f.Grade == trial.Bad || strict && f.Grade == trial.Poor {
					result.OK = false
				}
			}
			if err := a.showChecked(result, output); err != nil {
				return err
			}
			if !result.OK {
				return failed(errSaid)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "take warnings for failures")
	a.outputFlag(cmd, &output)
	return cmd
}

func (a *app) showChecked(result checkedPlugin, output string) error {
	if output == "json" {
		return a.printJSON(result)
	}
	out := terminal.New(a.stdout)
	styles := map[trial.Grade]terminal.Style{trial.Good: terminal.Good, trial.Poor: terminal.Doubt,
		trial.Bad: terminal.Bad}
	for _, f := range result.Findings {
		fmt.Fprintf(out, "%s  %s: %s\n", out.Paint(styles[f.Grade], fmt.Sprintf("%-7s", f.Grade)), terminal.Line(f.Check),
			terminal.Line(f.What))
	}
	return nil
}
