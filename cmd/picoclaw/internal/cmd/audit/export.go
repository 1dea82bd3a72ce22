package audit

import (
	"bufio"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/audit"
)

// ExportOptions are the options of `picoclaw audit export`.
type ExportOptions struct {
	*cli.Factory
	filter audit.Filter
	format string
}

func NewCmdExport(f *cli.Factory, runF func(*ExportOptions) error) *cobra.Command {
	o := &ExportOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the audit log",
	}
	addFilterFlags(f, cmd, &o.filter)
	cmd.Flags().StringVar(&o.format, "format", "jsonl", "`format`: "+strings.Join(audit.ExportFormats(), ", "))
	f.SetFlagCompletion(cmd, "format", cli.NewWordCompleter(audit.ExportFormats()...))
	return cli.SetRun(cmd, o, (*ExportOptions).exportLog, runF)
}

func (o *ExportOptions) exportLog() error {
	out := bufio.NewWriter(o.Out)
	exporter, err := audit.NewExporter(o.format, out, o.Version)
	if err != nil {
		return cli.UsageErrorf("--%w", err)
	}
	cfg, err := loadConfig(o.Factory)
	if err != nil {
		return err
	}
	var names nameCollector
	err = names.forEachMatchingRecord(o.Factory, cfg, o.filter, exporter.Write)
	if err = errors.Join(err, exporter.Close(), out.Flush()); err != nil {
		return cli.FailedError(err)
	}
	names.warnUnknownNames(o.Factory, cfg, o.filter)
	return nil
}
