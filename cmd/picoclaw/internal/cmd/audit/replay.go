package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ReplayOptions are the options of `picoclaw audit replay`.
type ReplayOptions struct {
	*cli.Factory
	filter audit.Filter
	output cli.OutputFormat

	host     *host.Runtime
	sessions map[previewSessionKey]*session.Session
	table    *terminal.Table
	rows     int
	sums     replaySummary
	changes  map[decisionChange]int
}

// previewSessionKey identifies the preview session that decides calls of one agent and origin.
type previewSessionKey struct{ agent, origin string }

// decisionChange is the logged and the new decision on a call.
type decisionChange struct {
	Was string `json:"was"`
	Now string `json:"now"`
}

// replayedCall is the JSON output about one call with a different decision.
type replayedCall struct {
	Time    time.Time      `json:"time"`
	Agent   string         `json:"agent"`
	Session string         `json:"session"`
	Tool    string         `json:"tool"`
	Args    map[string]any `json:"args,omitempty"`
	decisionChange
	Rule    string `json:"rule,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Inexact string `json:"inexact,omitempty"`
}

// replaySummary is the last line of the JSON output of `picoclaw audit replay`.
type replaySummary struct {
	Calls   int                   `json:"calls"`
	Same    int                   `json:"same"`
	Changed int                   `json:"changed"`
	Inexact int                   `json:"inexact"` // calls that cannot be decided exactly; they count neither as same nor as changed
	Changes []decisionChangeCount `json:"changes"`
}

// decisionChangeCount is the number of calls with the same change of decision.
type decisionChangeCount struct {
	decisionChange
	Calls int `json:"calls"`
}

func NewCmdReplay(f *cli.Factory, runF func(*ReplayOptions) error) *cobra.Command {
	o := &ReplayOptions{Factory: f, sessions: map[previewSessionKey]*session.Session{}, changes: map[decisionChange]int{}}
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Test a configuration against logged calls",
	}
	addFilterFlags(f, cmd, &o.filter)
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, (*ReplayOptions).runReplay, runF)
}

func (o *ReplayOptions) runReplay() error {
	cfg, err := loadConfig(o.Factory)
	if err != nil {
		return err
	}
	if o.host, err = hosts.OpenHost(o.Factory, ""); err != nil {
		return err
	}
	defer hosts.CloseHost(o.Factory, o.host)
	o.table = terminal.NewTable("TIME", "AGENT", "TOOL", "WAS", "NOW", "RULE", "CALL")
	err = new(nameCollector).forEachMatchingRecord(o.Factory, cfg, o.filter, func(r audit.Record) error { return o.replayRecord(r, cfg.AgentIDs()) })
	if err != nil {
		return err
	}
	return cli.ReportedFailure(o.sums.Changed > 0, o.printSummary())
}

// replayRecord decides one call again, and shows it if the decision differs.
func (o *ReplayOptions) replayRecord(r audit.Record, agents []string) error {
	result, err := o.decideCall(r, agents)
	if err != nil {
		return err
	}
	o.sums.Calls++
	c := decisionChange{Was: r.Decision, Now: result.Verdict.String()}
	switch {
	case result.Inexact != "":
		o.sums.Inexact++
		if result.Rule == "" && result.Reason == "" {
			return nil // nothing can be said of it
		}
	case c.Was == c.Now:
		o.sums.Same++
	default:
		o.sums.Changed++
		o.changes[c]++
	}
	if c.Was == c.Now {
		return nil
	}
	if o.output == cli.JSON {
		return o.PrintJSON(replayedCall{Time: r.Time, Agent: r.Agent, Session: r.Session, Tool: r.Tool, Args: r.Args,
			decisionChange: c, Rule: result.Rule, Reason: result.Reason, Inexact: result.Inexact})
	}
	mark := ""
	if result.Inexact != "" {
		mark = "~"
	}
	cells := recordCells(r)
	r.Error, r.Rule = "", "" // they are of the decision that was
	o.table.AddRow(cells[0], r.Agent, r.Tool, c.Was, mark+c.Now, cmp.Or(result.Rule, result.Reason), describeCall(r))
	style := map[guard.Verdict]terminal.Style{guard.Allow: terminal.Good, guard.Deny: terminal.Bad}[result.Verdict]
	o.table.StyleCell(4, cmp.Or(style, terminal.Doubt))
	o.rows++
	return nil
}

// decideCall decides a call for its agent; an unknown agent's call is denied.
func (o *ReplayOptions) decideCall(r audit.Record, agents []string) (session.ReplayedDecision, error) {
	if !slices.Contains(agents, r.Agent) {
		return session.ReplayedDecision{Decision: guard.Decision{Verdict: guard.Deny, Rule: "agents.agents",
			Reason: fmt.Sprintf("the configuration has no agent %q", r.Agent)}}, nil
	}
	key := previewSessionKey{r.Agent, r.Origin}
	s := o.sessions[key]
	if s == nil {
		var err error
		if s, err = o.host.OpenPreviewSession(r.Agent, session.Origin(r.Origin)); err != nil {
			return session.ReplayedDecision{}, cli.StartError(err)
		}
		o.sessions[key] = s
	}
	return s.ReplayDecision(r), nil
}

// printSummary prints the changed decisions with their numbers of calls.
func (o *ReplayOptions) printSummary() error {
	o.sums.Changes = []decisionChangeCount{}
	for _, c := range slices.SortedFunc(maps.Keys(o.changes), func(a, b decisionChange) int {
		return cmp.Or(cmp.Compare(a.Was, b.Was), cmp.Compare(a.Now, b.Now))
	}) {
		o.sums.Changes = append(o.sums.Changes, decisionChangeCount{c, o.changes[c]})
	}
	if o.output == cli.JSON {
		return o.PrintJSON(o.sums)
	}
	out := terminal.NewWriter(o.Out)
	if o.rows > 0 {
		if err := o.table.Write(out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s: %d with the same decision, %d with another", terminal.Pluralize(o.sums.Calls, "call"), o.sums.Same, o.sums.Changed)
	for i, c := range o.sums.Changes {
		fmt.Fprintf(out, "%s%d %s → %s", map[bool]string{true: " (", false: ", "}[i == 0], c.Calls, c.Was, c.Now)
	}
	if len(o.sums.Changes) > 0 {
		fmt.Fprint(out, ")")
	}
	fmt.Fprintln(out)
	if o.sums.Inexact > 0 {
		fmt.Fprintln(out, "note:", terminal.Pluralize(o.sums.Inexact, "call"),
			"can't be decided exactly, because the entry lacks arguments; they are counted separately")
	}
	return nil
}
