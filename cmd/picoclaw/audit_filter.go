package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
)

// auditFilter is the flags that choose records.
type auditFilter struct{ set *pflag.FlagSet }

func (c *auditFilter) flags(a *app, cmd *cobra.Command) {
	c.set = cmd.Flags()
	var agent string
	a.agentFlag(cmd, &agent, "the agent whose calls to show")
	c.set.String("tool", "", "only calls of this tool: a `name` or glob, such as exec or filesystem.*")
	a.complete(cmd, "tool", completeTools(a))
	c.set.String("session", "", "only calls of the session with this `id`")
	c.set.String("origin", "", "only calls on behalf of `whom`: main, subagent, heartbeat, cron, hook, cli, mcp or console")
	c.set.String("decision", "", "only calls on which the `decision` was allow, ask or deny")
	c.set.String("text", "", "only calls with this `text` in the rule, the error or the arguments")
	c.set.Bool("denied", false, "only calls that were refused")
	c.set.Bool("failed", false, "only calls that ended with an error")
	c.set.String("since", "",
		"only calls since a `time`: how long ago (90m, 24h, 7d), or 2006-01-02, or 2006-01-02T15:04:05Z")
	c.set.String("until", "", "only calls before a `time`, as --since has it")
}

func (c *auditFilter) filter(now time.Time) (audit.Filter, error) {
	filter, err := audit.ParseFilter(func(name string) string { return c.set.Lookup(name).Value.String() }, now)
	if err != nil {
		return filter, usage("--%w", err)
	}
	return filter, nil
}

func newAuditStats(a *app, runF func(*auditOptions) error) *cobra.Command {
	o := &auditOptions{app: a}
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
	return newCommand(cmd, o, runF)
}

func (o *auditOptions) stats() error {
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
	broken, err := audit.Read(session.AuditFile(cfg.Home().Path), func(r audit.Record) error {
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
	if o.output == jsonOutput {
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

// completeTools proposes the tools of the first agent.
func completeTools(a *app) completer {
	return func(*cobra.Command, []string, string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		s, _, done, err := a.sessionBy((*session.Host).Preview, "", session.CLI)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		for _, t := range s.Tools() {
			words = append(words, cobra.CompletionWithDesc(t.Name, firstSentence(t.Spec.Doc)))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
