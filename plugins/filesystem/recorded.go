package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/takeback"
)

// undoRecorded takes back what a command, or the undo of one, has changed.
func (r *restoring) undoRecorded(ctx context.Context, op *takeback.Op, dryRun bool) (undoOutput, error) {
	list, err := r.m.store.List(op, r.env.Workspace)
	if err != nil {
		return undoOutput{}, sdk.Errorf(sdk.NotFound, "%v", err)
	}
	defer list.Close()
	if path := list.Refused(func(path string) bool { return restorable(r.env, path) }); path != "" {
		return undoOutput{}, sdk.Errorf(sdk.AccessDenied, "%s (%s) can't be undone: the policy does not open %s", op.ID,
			shown(op.Summary), shown(path))
	}
	if conflict := list.Conflict(r.env.Workspace); conflict != nil && !r.force {
		return undoOutput{}, sdk.Errorf(sdk.Conflict, "%s; nothing was undone of %s (%s)", shown(conflict.Error()), op.ID,
			shown(op.Summary)).
			WithHint("force takes it back all the same, and keeps what is there now")
	}
	out := undoOutput{Undone: op.ID, Summary: op.Summary, Paths: list.Paths(), DryRun: dryRun}
	if len(op.Lost) > 0 {
		out.Notes = append(out.Notes, losses("not brought back", op.Lost)...)
	}
	if dryRun {
		return out, nil
	}
	files, err := r.env.Workspace.Restoring()
	if err != nil {
		return undoOutput{}, err
	}
	defer func() { _ = files.Close() }()
	undone, err := r.m.store.Undo(ctx, list, files)
	out.Undo = undone.Ended.ID
	if undone.Ended.Missing != "" {
		out.Notes = append(out.Notes, "this can't be undone: "+undone.Ended.Missing)
	}
	if err != nil {
		out.Paths = nil // the text is about what was done
	}
	if err == nil {
		return out, nil
	}
	hint := "nothing had been undone yet"
	if out.Undo != "" {
		hint = fmt.Sprintf("undo of %s takes back what it has done", out.Undo)
	}
	if errors.Is(err, context.Canceled) {
		return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; %s", hint)
	}
	return out, sdk.Errorf("io_error", "undo was not finished: %v", err).WithHint("%s", hint)
}

// dryRun says what taking back an operation of a tool would put back.
func (r *restoring) dryRun(ctx context.Context, op *takeback.Op) (undoOutput, error) {
	if err := r.check(ctx, op); err != nil {
		return undoOutput{}, err
	}
	out := undoOutput{Undone: op.ID, Summary: op.Summary, Paths: []string{}, DryRun: true}
	for _, step := range op.Steps {
		if step.Action != takeback.Tidy {
			out.Paths = append(out.Paths, step.Path)
		}
	}
	return out, nil
}
