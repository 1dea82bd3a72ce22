package main

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/audit"
)

// auditFilter is the flags that choose records.
type auditFilter struct {
	agent, tool, session, since string
	denied, failed              bool
}

func (f *auditFilter) flags(a *app, cmd *cobra.Command) {
	a.agentFlag(cmd, &f.agent, "the agent whose calls to show")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls of this tool: a `name` or glob, such as exec or filesystem.*")
	a.complete(cmd, "tool", a.toolNames)
	cmd.Flags().StringVar(&f.session, "session", "", "only calls of the session with this `id`")
	cmd.Flags().BoolVar(&f.denied, "denied", false, "only calls that were refused")
	cmd.Flags().BoolVar(&f.failed, "failed", false, "only calls that ended with an error")
	cmd.Flags().StringVar(&f.since, "since", "",
		"only calls since a `time`: how long ago (90m, 24h, 7d), or 2006-01-02, or 2006-01-02T15:04:05Z")
}

func (f *auditFilter) filter(now time.Time) (audit.Filter, error) {
	if _, err := path.Match(f.tool, ""); err != nil {
		return audit.Filter{}, usage("--tool %q is not a name or a glob", f.tool)
	}
	since, err := sinceTime(f.since, now)
	return audit.Filter{Agent: f.agent, Session: f.session, Tool: f.tool, Denied: f.denied, Failed: f.failed,
		Since: since}, err
}

// sinceTime reads a time as people give it: how long ago, a day, or a moment.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage("--since %q: want how long ago, such as 90m, 24h or 7d, or a time, such as 2006-01-02 or 2006-01-02T15:04:05Z", text)
}

func newAuditStats(a *app) *cobra.Command {
	o := &auditVerb{app: a}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Sum the record of calls up by tool",
		Long: `Sums the calls of each tool up: how many there were, how many were refused or failed, and how long those took that were made:
half of them at most p50 milliseconds, all but one in a hundred at most p99.`,
		Example: strings.Trim(`
  picoclaw audit stats
  picoclaw audit stats --agent main --since 7d --output json`, "\n"),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return o.stats() },
	}
	o.chosen.flags(a, cmd)
	a.outputFlag(cmd, &o.output)
	return cmd
}

func (o *auditVerb) stats() error {
	if err := format(o.output); err != nil {
		return err
	}
	filter, err := o.chosen.filter(time.Now())
	if err != nil {
		return err
	}
	cfg, err := o.app.config("")
	if err != nil {
		return err
	}
	var sums audit.Summary
	var names auditNames
	broken, err := audit.Read(host.AuditFile(cfg.Home().Path), func(r audit.Record) error {
		names.see(r)
		if filter.Matches(r) {
			sums.Add(r)
		}
		return nil
	})
	if err != nil {
		return asFailed(err)
	}
	o.app.complainOfLines(broken)
	names.complain(o.app, cfg, filter)
	if o.output == "json" {
		return o.app.printJSON(sums.Tools())
	}
	table := terminal.NewTable("TOOL", "CALLS", "REFUSED", "FAILED", "P50 MS", "P99 MS", "BYTES").Right(1, 2, 3, 4, 5, 6)
	for _, t := range sums.Tools() {
		table.Row(t.Tool, strconv.Itoa(t.Calls), strconv.Itoa(t.Denied), strconv.Itoa(t.Failed),
			took(t, t.P50), took(t, t.P99), strconv.Itoa(t.Bytes))
		if t.Denied > 0 {
			table.Style(2, terminal.Bad)
		}
	}
	return table.Write(terminal.New(o.app.stdout))
}

// took shows how long calls took; nothing where none was made.
func took(t audit.Stats, ms float64) string {
	if t.Calls == t.Denied {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', 1, 64)
}
