package audit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// loadConfig returns the configuration of a home that exists.
func loadConfig(f *cli.Factory) (*config.Config, error) {
	if _, err := f.FindUsedHome(); err != nil {
		return nil, err
	}
	return f.LoadConfig("")
}

// addFilterFlags adds the flags that select audit entries, and parses them into filter.
func addFilterFlags(f *cli.Factory, cmd *cobra.Command, filter *audit.Filter) {
	flags := cmd.Flags()
	var agent string
	f.AddAgentFlag(cmd, &agent, "the agent whose calls to show")
	flags.String("tool", "", "only calls of this tool: a `name` or glob, such as exec or filesystem.*")
	f.SetFlagCompletion(cmd, "tool", completeTools(f))
	flags.String("session", "", "only calls of the session with this `id`")
	flags.String("origin", "", "only calls with this `origin`: main, subagent, heartbeat, cron, hook, cli, mcp or console")
	flags.String("decision", "", "only calls with this `decision`: allow, ask or deny")
	flags.String("text", "", "only calls with this `text` in the rule, the error or the arguments")
	flags.Bool("denied", false, "only refused calls")
	flags.Bool("failed", false, "only failed calls")
	flags.String("since", "",
		"only calls since a `time`: 90m, 24h or 7d ago, 2006-01-02, or 2006-01-02T15:04:05Z")
	flags.String("until", "", "only calls before a `time`, in the format of --since")
	cmd.Args = func(cmd *cobra.Command, args []string) (err error) {
		if err = cli.NoArguments(cmd, args); err != nil {
			return err
		}
		value := func(name string) string { return flags.Lookup(name).Value.String() }
		if *filter, err = audit.ParseFilter(value, time.Now()); err != nil {
			return cli.UsageErrorf("--%w", err)
		}
		return nil
	}
}

func NewCmdStats(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Summarise calls by tool",
	}
	addFilterFlags(f, cmd, &o.filter)
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, (*Options).showStats, runF)
}

func (o *Options) showStats() error {
	cfg, err := loadConfig(o.Factory)
	if err != nil {
		return err
	}
	var sums audit.ToolStatsCollector
	var names nameCollector
	if err = names.forEachMatchingRecord(o.Factory, cfg, o.filter, func(r audit.Record) error { sums.AddRecord(r); return nil }); err != nil {
		return err
	}
	names.warnUnknownNames(o.Factory, cfg, o.filter)
	if o.output == cli.JSON {
		return o.PrintJSON(sums.ToolStats())
	}
	table := terminal.NewTable("TOOL", "CALLS", "REFUSED", "FAILED", "P50 MS", "P99 MS", "BYTES").AlignRight(1, 2, 3, 4, 5, 6)
	for _, t := range sums.ToolStats() {
		table.AddRow(t.Tool, strconv.Itoa(t.Calls), strconv.Itoa(t.Denied), strconv.Itoa(t.Failed),
			formatToolDuration(t, t.P50), formatToolDuration(t, t.P99), strconv.Itoa(t.Bytes))
		if t.Denied > 0 {
			table.StyleCell(2, terminal.Bad)
		}
	}
	return table.Write(terminal.NewWriter(o.Out))
}

// formatToolDuration returns the duration of a tool's calls; empty if none was made.
func formatToolDuration(t audit.ToolStats, ms float64) string {
	if t.Calls == t.Denied {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', 1, 64)
}

// completeTools proposes the tools of the first agent.
func completeTools(f *cli.Factory) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		s, _, done, err := hosts.OpenSessionWith(f, (*session.Host).OpenPreviewSession, "", session.CLI)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		for _, t := range s.Tools() {
			words = append(words, cobra.CompletionWithDesc(t.Name, cli.FirstSentence(t.Spec.Doc)))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// nameCollector collects the agents and tools in a log, to warn about unknown names in a filter.
type nameCollector struct{ agents, tools []string }

func (n *nameCollector) addRecord(r audit.Record) {
	if !slices.Contains(n.agents, r.Agent) {
		n.agents = append(n.agents, r.Agent)
	}
	if !slices.Contains(n.tools, r.Tool) {
		n.tools = append(n.tools, r.Tool)
	}
}

// newCollectingFilter returns a function that collects the names of a record, and calls found if the record matches.
func (n *nameCollector) newCollectingFilter(filter audit.Filter, found func(audit.Record) error) func(audit.Record) error {
	return func(r audit.Record) error {
		n.addRecord(r)
		if filter.Matches(r) {
			return found(r)
		}
		return nil
	}
}

// forEachMatchingRecord calls found for the records that match the filter, and warns about invalid lines.
func (n *nameCollector) forEachMatchingRecord(f *cli.Factory, cfg *config.Config, filter audit.Filter, found func(audit.Record) error) error {
	broken, err := audit.ReadLog(audit.LogPath(cfg.Home().Path), n.newCollectingFilter(filter, found))
	if err == nil {
		warnInvalidLines(f, broken)
	}
	return cli.FailedError(err)
}

// warnUnknownNames warns if a filter names an agent or tool that is neither in the log nor configured.
func (n *nameCollector) warnUnknownNames(f *cli.Factory, cfg *config.Config, filter audit.Filter) {
	if agents := append(cfg.AgentIDs(), n.agents...); filter.Agent != "" && !slices.Contains(agents, filter.Agent) {
		fmt.Fprintf(f.Err, "picoclaw: no agent %q is configured, and no call of one is in the log%s\n", filter.Agent,
			suggest.DidYouMean(filter.Agent, agents))
	}
	if filter.Tool == "" || slices.ContainsFunc(n.tools, newToolMatcher(filter.Tool)) {
		return
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg})
	if err != nil {
		return // what is installed can't be told
	}
	defer hosts.CloseHost(f, h)
	tools := n.tools
	for _, t := range h.AllTools() {
		tools = append(tools, t.Spec.Name, t.Name)
	}
	if !slices.ContainsFunc(tools, newToolMatcher(filter.Tool)) {
		fmt.Fprintf(f.Err, "picoclaw: no tool %q is installed, and no call of one is in the log%s\n", filter.Tool,
			suggest.DidYouMean(filter.Tool, tools))
	}
}

// newToolMatcher returns a function that reports whether a filter pattern matches a tool name.
func newToolMatcher(pattern string) func(name string) bool {
	return func(name string) bool { return audit.Filter{Tool: pattern}.Matches(audit.Record{Tool: name}) }
}
