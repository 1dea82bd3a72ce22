package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type undoInput struct {
	ID     string `json:"id,omitempty" jsonschema:"ID of the operation in history; default: the last operation"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"Only report what would be restored" default:"false"`
	Force  bool   `json:"force,omitempty" jsonschema:"Also undo files with later changes; a second undo restores those" default:"false"`
}

type undoOutput struct {
	Undone    string              `json:"undone" jsonschema:"ID of the undone operation"`
	Summary   string              `json:"summary"`
	Paths     []string            `json:"paths" jsonschema:"Restored paths"`
	Undo      string              `json:"undo,omitempty" jsonschema:"ID of this operation; undo it to redo the other"`
	DryRun    bool                `json:"dry_run,omitempty"`
	Conflicts []undo.PathConflict `json:"conflicts,omitempty" jsonschema:"Paths left unchanged because others changed them"`
	Notes     []string            `json:"notes,omitempty"`
}

// UndoID returns the id in the undo history.
func (o undoOutput) UndoID() string { return o.Undo }

// Text returns a description of the undo.
func (o undoOutput) Text() string {
	if len(o.Paths) == 0 {
		return ""
	}
	what := "Undone"
	if o.DryRun {
		what = "Would be undone"
	}
	return withNotes(fmt.Sprintf("%s: %s\n%s", what, hiddentext.QuoteUnprintable(o.Summary), formatFirstItems(o.Paths, hiddentext.QuoteUnprintable)), o.Notes)
}

// maxListedPaths limits the paths in the text of an undo.
const maxListedPaths = 50

// formatFirstItems returns the first items, one per line, and the number of omitted items.
func formatFirstItems[T any](all []T, format func(T) string) string {
	var lines []string
	for _, item := range all[:min(maxListedPaths, len(all))] {
		lines = append(lines, format(item))
	}
	if more := len(all) - maxListedPaths; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func newUndoTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("undo", "Undo the file changes of a tool call or command. Restores contents, modes and paths.",
		func(ctx context.Context, req *sdk.Request[undoInput]) (undoOutput, error) {
			if err := m.requireHistory(&req.Environment); err != nil {
				return undoOutput{}, err
			}
			op, err := m.chooseOperation(&req.Environment, req.Args.ID)
			if err != nil {
				return undoOutput{}, err
			}
			return m.undoOperation(ctx, &req.Environment, op, req.Args, req.IsApproved())
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write", "fs.delete"}}))
}

// chooseOperation returns the operation with an id, or else the latest one that is not completely undone. An
// interrupted undo is such an operation.
func (m *pluginState) chooseOperation(env *sdk.Environment, id string) (*undo.Operation, error) {
	var chosen *undo.Operation
	elsewhere, extent, extents := 0, undo.ExtentNone, undo.UndoStatuses{}
	err := m.store.EachOperation(func(op *undo.Operation) bool {
		extent = extents.Add(op)
		if !mayShowOperation(env, op) {
			elsewhere += countElsewhere(env, op)
			return true
		}
		isLast := extent != undo.ExtentWhole && (op.Undoes == "" || op.IsUnfinished())
		if id != "" && op.ID != id || id == "" && !isLast {
			return true
		}
		chosen = op
		return false
	})
	switch {
	case err != nil:
		return nil, err
	case chosen == nil && id != "":
		return nil, sdk.Errorf(sdk.NotFound, "%v", &undo.UnknownOperationError{ID: id})
	case chosen == nil:
		return nil, sdk.Errorf(sdk.NotFound, "there is nothing to undo%s", describeElsewhere(elsewhere))
	case extent == undo.ExtentWhole:
		return nil, sdk.Errorf(sdk.Conflict, "%s (%s) is already undone", chosen.ID, hiddentext.QuoteUnprintable(chosen.Summary)).
			WithHint("undo of the undo, which history lists, makes the changes again")
	}
	return chosen, checkUndoable(chosen)
}

// checkUndoable returns an error if an operation can't be undone or has been undone.
func checkUndoable(op *undo.Operation) error {
	if op.Missing == "" {
		return nil
	}
	return sdk.Errorf(sdk.Conflict, "%s (%s) can't be undone: %s", op.ID, hiddentext.QuoteUnprintable(op.Summary), hiddentext.QuoteUnprintable(op.Missing)).
		WithHint("undo can name an older operation; history lists them")
}

// undoOperation undoes an operation, except for files that changed since.
func (m *pluginState) undoOperation(ctx context.Context, env *sdk.Environment, op *undo.Operation, in undoInput,
	approved bool) (undoOutput, error) {
	files, err := env.Workspace.OpenWithoutProtection()
	if err != nil {
		return undoOutput{}, err
	}
	defer func() { _ = files.Close() }()
	done, err := m.store.Undo(ctx, files, undo.UndoRequest{
		ID: op.ID, Force: in.Force, DryRun: in.DryRun,
		Check: newRestorePolicyCheck(env), Permit: newProtectedRestoreCheck(env, approved),
	})
	out := undoOutput{Undone: op.ID, Summary: op.Summary, Paths: done.Paths, DryRun: in.DryRun, Undo: done.Ended.ID}
	if out.Conflicts = done.Conflicts; len(out.Conflicts) > 0 {
		out.Notes = append(out.Notes, undo.FormatConflicts(out.Conflicts))
	}
	if len(op.Lost) > 0 {
		out.Notes = append(out.Notes, "not brought back: "+joinQuotedNames(op.Lost))
	}
	if len(done.LostMetadata) > 0 {
		out.Notes = append(out.Notes, "restored without some metadata: "+strings.ReplaceAll(formatFirstItems(done.LostMetadata, strings.Clone), "\n", "; "))
	}
	if len(done.Ended.Lost) > 0 {
		out.Notes = append(out.Notes, "undo of this undo does not restore: "+joinQuotedNames(done.Ended.Lost))
	}
	if done.Ended.Missing != "" {
		out.Notes = append(out.Notes, "this can't be undone: "+done.Ended.Missing)
	}
	var notEnded *undo.UnfinishedOperationError
	switch {
	case errors.As(err, &notEnded):
		return undoOutput{}, sdk.Errorf(sdk.Conflict, "%s; nothing was undone of %s", hiddentext.QuoteUnprintable(err.Error()), op.ID).
			WithHint("if it does not run any more, undo of %s with force restores the files from before it", notEnded.ID)
	case err == nil && len(done.Paths) == 0 && len(done.Conflicts) > 0:
		conflicts := formatFirstItems(done.Conflicts, func(c undo.PathConflict) string { return c.Error() })
		hint := "history lists older operations, which undo takes by id"
		if !in.Force && slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.CanForce() }) {
			hint = "force also restores files that have changed since, and saves their current state; " + hint
		}
		return undoOutput{}, sdk.Errorf(sdk.Conflict, "%s; nothing was undone of %s (%s)", conflicts, op.ID,
			hiddentext.QuoteUnprintable(op.Summary)).WithHint("%s", hint)
	case err == nil && len(done.Paths) == 0:
		return undoOutput{}, sdk.Errorf(sdk.Conflict, "nothing is left to undo of %s (%s)", op.ID, hiddentext.QuoteUnprintable(op.Summary))
	case err == nil:
		return out, nil
	}
	out.Paths = nil // the text is about what was done
	if out.Undo == "" && !errors.Is(err, context.Canceled) {
		return out, newFailureError("undo", err)
	}
	hint := "nothing was undone yet"
	if out.Undo != "" {
		hint = fmt.Sprintf("undo of %s reverses it", out.Undo)
	}
	if errors.Is(err, context.Canceled) {
		return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; %s", hint)
	}
	return out, sdk.Errorf("io_error", "undo was not finished: %v", err).WithHint("%s", hint)
}

// newProtectedRestoreCheck returns a function that refuses to restore a protected file without approval.
func newProtectedRestoreCheck(env *sdk.Environment, approved bool) func(mutation.FileMutation) error {
	monitor := env.Workspace.NewChangeMonitor(workspace.EnforcerOptions{Approved: approved, TempPrefix: undo.TempPrefix})
	return func(m mutation.FileMutation) error {
		if m.Kind == mutation.Rename {
			return monitor.CheckMoveProtection(m.Path, m.To)
		}
		return monitor.BeforeChange(m)
	}
}
