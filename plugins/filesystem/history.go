package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

type historyInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"Number of operations, latest first" default:"20" minimum:"1" maximum:"1000"`
}

type historyOutput struct {
	Operations []historyEntry `json:"operations"`
	More       bool           `json:"more,omitempty" jsonschema:"Older operations exist"`
	Pruned     bool           `json:"pruned,omitempty" jsonschema:"Older operations were deleted because of the limits in tools.undo"`

	elsewhere int // operations of other workspaces
}

// historyEntry is an operation of the undo history in the result.
type historyEntry struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"`
	Undone  bool   `json:"undone,omitempty"`
	Partly  bool   `json:"partly_undone,omitempty" jsonschema:"Undo left conflicts; repeat it once they are resolved"`
	Ongoing bool   `json:"ongoing,omitempty" jsonschema:"Interrupted, or still running"`
	Undoes  string `json:"undoes,omitempty"`
	Missing string `json:"cannot_undo,omitempty" jsonschema:"Reason why undo is impossible"`

	Changes    *undo.ChangeSummary `json:"changes,omitempty" jsonschema:"Changes by the command"`
	NotCovered []string            `json:"not_covered,omitempty" jsonschema:"Changes that undo does not restore"`
}

// Text returns one line per operation, the latest first. With an error there is no text.
func (o historyOutput) Text() string {
	if o.Operations == nil {
		return ""
	}
	if len(o.Operations) == 0 {
		return strings.TrimSuffix("there are no changes to undo"+describeElsewhere(o.elsewhere)+"\n"+o.describeOlder(), "\n")
	}
	var b strings.Builder
	for _, op := range o.Operations {
		fmt.Fprintf(&b, "%s  %s  %s", op.ID, op.Time, hiddentext.QuoteUnprintable(op.Summary))
		switch {
		case op.Undone:
			b.WriteString("  (undone)")
		case op.Partly:
			b.WriteString("  (partly undone)")
		case op.Ongoing:
			b.WriteString("  (interrupted, or still running)")
		case op.Missing != "":
			fmt.Fprintf(&b, "  (can't be undone: %s)", hiddentext.QuoteUnprintable(op.Missing))
		}
		if op.Changes != nil {
			for _, name := range op.Changes.RunByTools {
				fmt.Fprintf(&b, "\n    your build tools or hooks run: %s", hiddentext.QuoteUnprintable(name))
			}
		}
		for _, lost := range op.NotCovered {
			fmt.Fprintf(&b, "\n    not covered: %s", hiddentext.QuoteUnprintable(lost))
		}
		b.WriteByte('\n')
	}
	b.WriteString(o.describeOlder())
	return strings.TrimSuffix(b.String(), "\n")
}

// describeOlder returns a line about older operations, or "".
func (o historyOutput) describeOlder() string {
	switch {
	case o.More:
		return "[older changes exist; raise limit]\n"
	case o.Pruned:
		return "[older changes were deleted: they exceeded tools.undo.max_size or tools.undo.max_age_days]\n"
	}
	return ""
}

func newHistoryTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("history", "List changes of files, latest first. Each can be undone with undo.",
		func(_ context.Context, req *sdk.Request[historyInput]) (historyOutput, error) {
			if err := m.requireHistory(&req.Environment); err != nil {
				return historyOutput{}, err
			}
			limit := cmp.Or(req.Args.Limit, 20)
			out := historyOutput{Operations: []historyEntry{}}
			extents := undo.UndoStatuses{}
			err := m.store.EachOperation(func(op *undo.Operation) bool {
				extent := extents.Add(op)
				if !mayShowOperation(&req.Environment, op) {
					out.elsewhere += countElsewhere(&req.Environment, op)
					return true
				}
				if len(out.Operations) == limit {
					out.More = true
					return false
				}
				out.Operations = append(out.Operations, historyEntry{
					ID: op.ID, Time: op.Time.Local().Format(time.DateTime), Tool: op.Tool, Summary: op.Summary,
					Undone: extent == undo.ExtentWhole, Partly: extent == undo.ExtentPart, Ongoing: op.IsUnfinished(), Undoes: op.Undoes, Missing: op.Missing, Changes: op.Changes, NotCovered: op.Lost,
				})
				return true
			})
			if err != nil {
				return historyOutput{}, err
			}
			out.Pruned = m.store.HasPruned()
			return out, nil
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{picoclawSet, moduleSet},
			Permissions: []string{"fs.list"}, Risk: "low",
		})
}

// requireHistory returns an error if there is no undo history.
func (m *pluginState) requireHistory(env *sdk.Environment) error {
	if err := m.initOnce(env); err != nil {
		return err
	}
	if m.store == nil {
		return sdk.Errorf(sdk.Conflict, "undo is disabled").
			WithHint("tools.undo.enabled and plugins.filesystem.grants.takeback switch it on")
	}
	return nil
}

// mayShowOperation reports whether the policy allows everything that an operation touched. An agent with a restricted
// policy must not see other operations, nor those of another workspace.
func mayShowOperation(env *sdk.Environment, op *undo.Operation) bool {
	if op.Dir != "" && op.Dir != env.Workspace.Dir() && env.Guard.DecidePath(guard.Write, op.Dir).Verdict != guard.Allow {
		return false
	}
	if op.Changes == nil {
		return true
	}
	return !slices.ContainsFunc(op.Changes.Names, func(path string) bool { return !mayRestore(env, path) })
}

// countElsewhere returns 1 for an operation outside the workspace, and 0 for others. After a move of the workspace, all
// operations are outside.
func countElsewhere(env *sdk.Environment, op *undo.Operation) int {
	if op.Changes != nil && slices.ContainsFunc(op.Changes.Names, func(path string) bool { return paths.Within(env.Workspace.Dir(), path) }) {
		return 0
	}
	return 1
}

// describeElsewhere returns the end of a message without operations. It names no path, which a restricted agent must
// not see.
func describeElsewhere(count int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf(" in this workspace; the history has %d operations of workspaces with other paths", count)
}

// newRestorePolicyCheck returns a function that checks whether undo may restore a path or anything below it.
func newRestorePolicyCheck(env *sdk.Environment) func(path string) error {
	open := map[string]bool{}
	return func(path string) error {
		if !open[filepath.Dir(path)] && !mayRestore(env, path) {
			return errors.New("is not open to this agent")
		}
		open[path] = path != env.Workspace.Dir()
		return nil
	}
}

// mayRestore reports whether the policy allows restoring a path. It ignores symlinks and read-only directories that the
// operation created, because undo removes or opens them first.
func mayRestore(env *sdk.Environment, path string) bool {
	for at := path; at != env.Workspace.Dir() && at != filepath.Dir(at); at = filepath.Dir(at) {
		if env.Guard.DecidePath(guard.Write, at).Verdict == guard.Allow {
			return true // a decision about Delete also looks for protected files below the path
		}
		switch d := env.Guard.DecidePath(guard.Delete, at); {
		case d.Verdict == guard.Allow, d.Rule == guard.RuleProtect:
			return true
		case d.Rule != guard.RuleSymlink && d.Rule != guard.RuleUnresolved:
			return false
		}
	}
	return true
}
