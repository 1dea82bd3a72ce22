// Package undo has the commands undo and history.
package undo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Options are the options of `picoclaw undo`.
type Options struct {
	commonOptions
	id            string // of the change; empty for the last one
	force, dryRun bool
}

func NewCmdUndo(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	v := &Options{commonOptions: commonOptions{Factory: f, tool: "undo"}}
	cmd := &cobra.Command{
		Use:        "undo [ID]",
		SuggestFor: []string{"restore", "revert"},
		Short:      "Undo an agent's last change to files, or the one with an ID",
		Args:       v.runOr(cli.NoArgumentsOr(cli.OneArgument(&v.id, "undo takes one operation at a time; `picoclaw history` lists them"))),
	}
	cmd.Flags().BoolVar(&v.force, "force", false, "also undo files that have changed since; their current state can be restored")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "show what would be restored")
	v.addFlags(cmd)
	return cli.SetRunContext(cmd, v, (*Options).runUndo, runF)
}

func (v *Options) runUndo(ctx context.Context) error {
	wanted := map[string]any{"force": v.force, "dry_run": v.dryRun}
	switch {
	case v.run != "" && v.dryRun:
		return cli.UsageErrorf("--dry-run shows one change; name it by ID, without --run")
	case v.id != "":
		wanted["id"] = v.id
	default:
		v.precheck = refuseAfterUntrackedCommand
	}
	return v.callToolAndShowResult(ctx, wanted)
}

// HistoryOptions are the options of `picoclaw history`.
type HistoryOptions struct {
	commonOptions
	limit int
}

func NewCmdHistory(f *cli.Factory, runF func(*HistoryOptions) error) *cobra.Command {
	v := &HistoryOptions{commonOptions: commonOptions{Factory: f, tool: "history"}}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List an agent's changes to files, latest first",
		Args:  v.runOr(cli.NoArguments),
	}
	cmd.Flags().IntVar(&v.limit, "limit", 20, "number of changes")
	v.addFlags(cmd)
	return cli.SetRunContext(cmd, v, (*HistoryOptions).showHistory, runF)
}

func (v *HistoryOptions) showHistory(ctx context.Context) error {
	return v.callToolAndShowResult(ctx, map[string]any{"limit": v.limit})
}

// commonOptions are the options that undo and history share, with the tool to call.
type commonOptions struct {
	*cli.Factory
	tool   string
	agent  string
	run    string // id of a run, or newestRun; empty for one change
	output cli.OutputFormat
	// precheck returns a refusal if the call must not be made; nil for no check.
	precheck func(context.Context, *session.Session) (*session.Error, error)
}

func (v *commonOptions) addFlags(cmd *cobra.Command) {
	v.AddAgentFlag(cmd, &v.agent, "the agent with the changes (default: the newest run of the project, or the first agent)")
	cmd.Flags().StringVar(&v.run, "run", "", "all changes of the run with an `ID` (default: the newest)")
	cmd.Flags().Lookup("run").NoOptDefVal = newestRun
	v.AddOutputFlag(cmd, &v.output)
}

// newestRun is the value of --run without an id.
const newestRun = "newest"

// runOr accepts an argument after --run as the run's id, and other arguments as check does.
func (v *commonOptions) runOr(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if v.run == newestRun && len(args) == 1 {
			v.run, args = args[0], nil
		}
		if v.run != "" && len(args) > 0 {
			return cli.UsageErrorf("--run takes one run; `picoclaw history` lists the changes of the newest")
		}
		return check(cmd, args)
	}
}

func (v *commonOptions) callToolAndShowResult(ctx context.Context, arguments map[string]any) error {
	id, _ := arguments["id"].(string)
	of, err := v.findRun(id)
	if err != nil {
		return cli.FailedError(err)
	}
	agent := v.agent
	if of != nil {
		v.Workspace, agent = of.Project, cmp.Or(agent, of.Agent)
	}
	s, h, done, err := hosts.OpenSession(v.Factory, agent, session.CLI)
	if err != nil {
		return err
	}
	defer done()
	if of != nil {
		v.precheck = nil
		s.UseUndoStore(run.UndoStoreDir(s.Policy().HomePath(), of.ID))
		fmt.Fprintf(v.Err, "picoclaw: of run %s in %s: %s\n", of.ID, of.Project, terminal.CleanLine(strings.Join(of.Program, " ")))
	}
	calls, err := v.listCalls(of, s.Policy().HomePath(), arguments)
	if err != nil {
		return cli.FailedError(err)
	}
	if err := h.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	if v.precheck != nil {
		switch e, err := v.precheck(ctx, s); {
		case err != nil:
			return cli.FailedError(err)
		case e != nil:
			return results.ShowResult(v.Factory, v.tool, &session.Result{Err: e}, v.output)
		}
	}
	var failed error
	for _, arguments := range calls {
		raw, err := json.Marshal(arguments)
		if err != nil {
			return err
		}
		result := s.Call(ctx, v.tool, raw, nil)
		shown := results.ShowResult(v.Factory, v.tool, result, v.output)
		failed = cmp.Or(failed, cli.ReportedFailure(leftPathsUnchanged(result), shown))
	}
	return failed
}

// leftPathsUnchanged reports whether an undo left paths as they are, because others changed them.
func leftPathsUnchanged(r *session.Result) bool {
	var out struct {
		DryRun    bool              `json:"dry_run"`
		Conflicts []json.RawMessage `json:"conflicts"`
	}
	return json.Unmarshal(r.Structured, &out) == nil && len(out.Conflicts) > 0 && !out.DryRun
}

// listCalls returns the arguments of the calls to make: one call, or one for each operation of a run that is to be undone.
func (v *commonOptions) listCalls(of *run.RunRecord, home string, arguments map[string]any) (calls []map[string]any, err error) {
	if v.run == "" || v.tool != "undo" {
		return []map[string]any{arguments}, nil
	}
	force, _ := arguments["force"].(bool)
	ids, err := of.ListOperationsToUndo(home, force)
	if err != nil {
		return nil, err
	}
	if of.Undo != "" && !of.HasBurst(home, of.Undo) {
		fmt.Fprintln(v.Err, "picoclaw: the run's first changes are no longer in the undo history (tools.undo.max_size)")
	}
	for _, id := range ids {
		call := maps.Clone(arguments)
		call["id"] = id
		calls = append(calls, call)
	}
	return calls, nil
}

// findRun returns the run in --run, or else the run of the current project with a change, or its newest run. It returns
// nil for changes outside runs.
func (v *commonOptions) findRun(change string) (*run.RunRecord, error) {
	if v.run == "" && (v.agent != "" || v.Workspace != "") {
		return nil, nil
	}
	project, _, err := run.FindProjectDir("", "")
	switch {
	case err != nil && v.run != "":
		return nil, err
	case err != nil:
		return nil, nil // without a current directory, there is no project
	}
	home, err := v.FindHome()
	if err != nil {
		return nil, err
	}
	if v.run != "" && v.run != newestRun {
		project = ""
	}
	all, err := run.ListRecords(home, project)
	at := slices.IndexFunc(all, func(r run.RunRecord) bool {
		return r.ID == v.run || project != "" && (change == "" || r.HasBurst(home, change))
	})
	switch {
	case err != nil:
		return nil, err
	case at >= 0:
		return &all[at], nil
	case v.run == newestRun:
		return nil, fmt.Errorf("project %s has no runs", project)
	case v.run == "" && len(all) > 0:
		return &all[0], nil // which does not have the change
	case v.run != "":
		return nil, fmt.Errorf("there is no run %s; the runs are listed in %s", v.run, filepath.Join(home, "runs"))
	}
	return nil, nil
}

// historyResult is the structured result of the tool history.
type historyResult struct {
	Operations []historyOperation `json:"operations"`
}

// historyOperation is one change in the result of the tool history.
type historyOperation struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Summary string `json:"summary"`
	Undone  bool   `json:"undone"`
	Undoes  string `json:"undoes"`
}

// parseIDTime returns the time at the beginning of the change's id; zero if the id has none.
func (c historyOperation) parseIDTime() time.Time {
	const digits = len("20060102T150405000000000")
	if len(c.ID) < digits {
		return time.Time{}
	}
	at, err := time.Parse("20060102T150405.000000000", c.ID[:15]+"."+c.ID[15:digits])
	if err != nil {
		return time.Time{}
	}
	return at
}

// maxListedChanges is the number of changes that an error shows.
const maxListedChanges = 5

// refuseAfterUntrackedCommand refuses an undo without an id if the agent has run a command since its last recorded
// change. The command's changes are not recorded, and the user may mean those.
func refuseAfterUntrackedCommand(ctx context.Context, s *session.Session) (*session.Error, error) {
	r := s.Call(ctx, "history", json.RawMessage(`{"limit":1000}`), nil)
	if r.Err != nil {
		return nil, nil // undo says what is wrong
	}
	var known historyResult
	if err := json.Unmarshal(r.Structured, &known); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	left := slices.DeleteFunc(known.Operations, func(c historyOperation) bool { return c.Undone || c.Undoes != "" })
	if len(left) == 0 {
		return nil, nil
	}
	command, at, err := findUntrackedCommand(s, left[0].parseIDTime())
	if err != nil || !at.After(left[0].parseIDTime()) {
		return nil, err
	}
	text := fmt.Sprintf("the last change may be by a command without undo: %s (%s)",
		clipCommand(command), at.Local().Format(time.DateTime))
	for _, c := range left[:min(len(left), maxListedChanges)] {
		text += fmt.Sprintf("\n%s  %s  %s", c.ID, c.Time, terminal.CleanLine(c.Summary))
	}
	return &session.Error{Code: pluginpb.CodeConflict, Message: text,
		Hint: "`picoclaw undo ID` undoes one of these; `picoclaw history` lists all"}, nil
}

// findUntrackedCommand returns the agent's latest command whose changes are not recorded, and its end time. It searches
// the audit log back to since.
func findUntrackedCommand(s *session.Session, since time.Time) (command string, at time.Time, err error) {
	q := audit.LogQuery{Filter: audit.Filter{Agent: s.Policy().AgentID()}, Limit: 200}
	for {
		page, err := audit.SearchLog(audit.LogPath(s.Policy().HomePath()), q)
		if err != nil {
			return "", at, err
		}
		for _, r := range page.Records {
			if r.EndTime().After(at) {
				if text := s.FindLoggedCommandWithoutUndo(r); text != "" {
					command, at = text, r.EndTime()
				}
			}
		}
		if command != "" || page.Next == "" || page.Reached.Before(since) {
			return command, at, nil
		}
		q.After = page.Next
	}
}

// clipCommand returns the beginning of a command on one line.
func clipCommand(command string) string {
	const limit = 120
	line := []rune(strings.TrimSpace(terminal.CleanLine(command)))
	if len(line) <= limit {
		return string(line)
	}
	return string(line[:limit]) + "…"
}
