// Package audit has the command audit.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
)

// Options are the options of `picoclaw audit`.
type Options struct {
	*cli.Factory
	filter audit.Filter
	output cli.OutputFormat
	limit  int
	follow bool
}

func NewCmdAudit(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "audit",
		SuggestFor: []string{"log", "logs"},
		Short:      "Show the audit log",
	}
	addFilterFlags(f, cmd, &o.filter)
	f.AddOutputFlag(cmd, &o.output)
	cmd.Flags().IntVar(&o.limit, "limit", 50, "number of latest calls; 0 for all")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "print new calls until interrupted")
	cmd.AddCommand(NewCmdStats(f, nil), NewCmdVerify(f, nil), NewCmdReplay(f, nil), NewCmdExport(f, nil))
	return cli.SetRunContext(cmd, o, (*Options).runAudit, runF)
}

func (o *Options) runAudit(ctx context.Context) error {
	if o.limit < 0 {
		return cli.UsageErrorf("--limit %d: want 0 or more", o.limit)
	}
	cfg, err := loadConfig(o.Factory)
	if err != nil {
		return err
	}
	path := audit.LogPath(cfg.Home().Path)
	if o.limit > 0 && !o.follow {
		return o.showLatestCalls(cfg, path)
	}
	latest := &latestRecords{max: o.limit}
	show := latest.addRecord
	var names nameCollector
	if o.follow {
		var failed error
		err = audit.FollowLog(ctx, path, names.newCollectingFilter(o.filter, func(r audit.Record) error { return show(r) }), func() {
			failed = o.showRecords(latest.records)
			names.warnUnknownNames(o.Factory, cfg, o.filter)
			show = o.printRecord
		})
		if failed != nil {
			return failed
		}
		return cli.FailedError(err)
	}
	if err := names.forEachMatchingRecord(o.Factory, cfg, o.filter, latest.addRecord); err != nil {
		return err
	}
	names.warnUnknownNames(o.Factory, cfg, o.filter)
	return o.showRecords(latest.records)
}

// showLatestCalls shows the latest calls without reading the log from its beginning.
func (o *Options) showLatestCalls(cfg *config.Config, path string) error {
	var found []audit.Record
	broken := 0
	q := audit.LogQuery{Filter: o.filter}
	for more := true; more && len(found) < o.limit; more = q.After != "" {
		q.Limit = o.limit - len(found)
		page, err := audit.SearchLog(path, q)
		if err != nil {
			return cli.FailedError(err)
		}
		found = append(found, page.Records...)
		broken, q.After = broken+page.Broken, page.Next
	}
	if len(found) == 0 { // perhaps there is nobody of that name
		var names nameCollector
		if _, err := audit.ReadLog(path, func(r audit.Record) error { names.addRecord(r); return nil }); err != nil {
			return cli.FailedError(err)
		}
		names.warnUnknownNames(o.Factory, cfg, o.filter)
	}
	warnInvalidLines(o.Factory, broken)
	slices.Reverse(found)
	return o.showRecords(found)
}

func warnInvalidLines(f *cli.Factory, broken int) {
	switch {
	case broken == 1:
		fmt.Fprintln(f.Err, "picoclaw: 1 line of the audit log is broken and was skipped; `picoclaw audit verify` shows where")
	case broken > 1:
		fmt.Fprintf(f.Err, "picoclaw: %d lines of the audit log are broken and were skipped; `picoclaw audit verify` shows where\n", broken)
	}
}

// latestRecords holds the latest records of the log, up to a number.
type latestRecords struct {
	max     int
	records []audit.Record
}

func (l *latestRecords) addRecord(r audit.Record) error {
	if l.records = append(l.records, r); l.max > 0 && len(l.records) > 2*l.max {
		l.records = append([]audit.Record(nil), l.records[len(l.records)-l.max:]...)
	}
	return nil
}

// showRecords prints existing records. With --follow the columns have fixed widths, because later records are unknown.
func (o *Options) showRecords(records []audit.Record) error {
	if o.limit > 0 && len(records) > o.limit {
		records = records[len(records)-o.limit:]
	}
	if o.output == cli.Text && !o.follow {
		return o.printTable(records)
	}
	for _, r := range records {
		if err := o.printRecord(r); err != nil {
			return err
		}
	}
	return nil
}

// fullTableWidth is the terminal width that all columns need; narrower terminals get fewer columns.
const fullTableWidth = 132

// printTable prints records as a table.
func (o *Options) printTable(records []audit.Record) error {
	out := terminal.NewWriter(o.Out)
	if width := out.Width(); width > 0 && width < fullTableWidth {
		table := terminal.NewTable("TIME", "AGENT", "TOOL", "DECISION", "MS", "CALL").AlignRight(4)
		for _, r := range records {
			cells := recordCells(r)
			if day, today, _ := strings.Cut(cells[0], " "); day == time.Now().Format(time.DateOnly) {
				cells[0] = today
			}
			table.AddRow(cells[0], cells[1], cells[3], cells[4], cells[5], cells[7])
			table.StyleCell(3, decisionStyle(r))
		}
		return table.Write(out)
	}
	table := terminal.NewTable("TIME", "AGENT", "ORIGIN", "TOOL", "DECISION", "MS", "BYTES", "CALL").AlignRight(5, 6)
	for _, r := range records {
		table.AddRow(recordCells(r)...)
		table.StyleCell(4, decisionStyle(r))
	}
	return table.Write(out)
}

func (o *Options) printRecord(r audit.Record) error {
	if o.output == cli.JSON {
		return o.PrintJSON(r)
	}
	out := terminal.NewWriter(o.Out)
	cells := recordCells(r)
	for i, cell := range cells {
		cells[i] = terminal.CleanLine(cell)
	}
	decision := out.Paint(decisionStyle(r), fmt.Sprintf("%-8s", cells[4]))
	_, err := fmt.Fprintf(out, "%s  %-10s %-6s %-24s %s %8s %8s  %s\n", cells[0], cells[1], cells[2], cells[3], decision,
		cells[5], cells[6], cells[7])
	return err
}

func recordCells(r audit.Record) []string {
	decision := r.Decision
	if r.Answer != "" {
		decision += ":" + r.Answer
	}
	return []string{r.Time.Local().Format("2006-01-02 15:04:05"), r.Agent, r.Origin, r.Tool, decision,
		strconv.FormatFloat(r.Millis, 'f', 1, 64), strconv.Itoa(r.Bytes), describeCall(r)}
}

// describeCall returns a call's arguments, answer and error.
func describeCall(r audit.Record) string {
	text := ""
	if len(r.Args) > 0 {
		if args, err := jsonv2.Marshal(r.Args, jsonv2.Deterministic(true)); err == nil {
			text = string(args)
		}
	}
	if a := r.Approval; a != nil && a.By != "" {
		text += fmt.Sprintf(" ← %s by %s (%s)", r.Answer, a.By, a.Way)
	}
	if r.WasDenied() && r.Rule != "" {
		text += " ← " + r.Rule
	}
	if r.Error != "" {
		text += " ← " + r.Error
	}
	if r.IsOpen() {
		text += " ← began, no end"
	}
	return strings.TrimSpace(text)
}

// decisionStyle returns the colour of a decision.
func decisionStyle(r audit.Record) terminal.Style {
	switch {
	case r.WasDenied():
		return terminal.Bad
	case r.Error != "" || r.IsOpen():
		return terminal.Doubt
	}
	return terminal.Good
}
