package main

import (
	"bufio"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
)

// auditExportOptions are the options of `picoclaw audit export`.
type auditExportOptions struct {
	*app

	chosen auditFilter
	format string
}

func newAuditExport(a *app, runF func(*auditExportOptions) error) *cobra.Command {
	o := &auditExportOptions{app: a}

	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the record of calls as other programs read it",
		Long: `Writes the record to standard output: jsonl, JSON Lines as the record has them but for the chain; csv, a table; ocsf, API
Activity (6003) of the Open Cybersecurity Schema Framework 1.3; cef, the Common Event Format.`,
		Example: strings.Trim(`
  picoclaw audit export --format csv > calls.csv
  picoclaw audit export --format ocsf --since 24h`, "\n"),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return o.run() },
	}
	o.chosen.flags(a, cmd)
	cmd.Flags().StringVar(&o.format, "format", "jsonl", "how: a `format` of "+strings.Join(audit.Formats(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(audit.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return newCommand(cmd, o, runF)
}

func (o *auditExportOptions) run() error { return o.exportAudit(&o.chosen, o.format) }

func (a *app) exportAudit(chosen *auditFilter, format string) error {
	out := bufio.NewWriter(a.stdout)
	to, err := audit.NewExporter(format, out, a.version)
	if err != nil {
		return usage("--%w", err)
	}
	filter, err := chosen.filter(time.Now())
	if err != nil {
		return err
	}
	cfg, err := a.config("")
	if err != nil {
		return err
	}
	var names auditNames
	broken, err := audit.Read(session.AuditFile(cfg.Home().Path), func(r audit.Record) error {
		names.see(r)
		if !filter.Matches(r) {
			return nil
		}
		return to.Write(r)
	})
	if err = errors.Join(err, to.Close(), out.Flush()); err != nil {
		return asFailed(err)
	}
	a.complainOfLines(broken)
	names.complain(a, cfg, filter)
	return nil
}
