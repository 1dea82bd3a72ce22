package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/takeback"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// restoring takes an operation back. It goes the way of every change: through the workspace, and into the journal.
type restoring struct {
	env   *sdk.Environment
	m     *memory
	force bool

	cleared bool // something that was in the way has been removed
	foreign int  // how much of what was put back belonged to somebody else, and does not now
}

// at surveys what is at a path, links not followed, in a way that can be compared with a state.
func (r *restoring) at(ctx context.Context, name, with string) (survey, error) {
	now, most := survey{state: absent}, int64(mostCompared)
	if isContents(with) {
		most = mostRead
	}
	err := r.env.Workspace.Look(guard.Write, name, func(tree *workspace.Tree) (err error) {
		now, err = look(ctx, tree, most)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return survey{state: absent}, nil
	}
	return now, err
}

// neverHappened reports whether the files are as they were before: the process was killed between writing the journal
// and the change.
func (r *restoring) neverHappened(ctx context.Context, op *takeback.Op) bool {
	if op.Recorded || op.Missing != "" || len(op.Steps) == 0 {
		return false
	}
	for _, step := range op.Steps {
		before, where := step.Before, step.Path
		switch step.Action {
		case takeback.Tidy:
			continue
		case takeback.Remove:
			before = absent
		case takeback.Move:
			before, where = absent, step.From
			if len(op.Steps) > 1 {
				return false // something was there before; it can't be told apart
			}
		case takeback.Restore, takeback.Shrink:
		}
		if now, err := r.at(ctx, where, before); err != nil || now.state != before || now.state == step.After {
			return false
		}
	}
	return true
}

// undo takes an operation back, if the files are still what it left, and writes down how to do it again.
func (r *restoring) undo(ctx context.Context, op *takeback.Op) (undoOutput, error) {
	if err := r.check(ctx, op); err != nil {
		return undoOutput{}, err
	}
	again, keep, err := r.opposite(ctx, op)
	if err != nil {
		return undoOutput{}, err
	}
	out := undoOutput{Undone: op.ID, Summary: op.Summary, Paths: []string{}}
	if err := r.m.write(again, &out.Undo, &out.Notes, keep); err != nil {
		return out, err
	}
	out.Notes = append(out.Notes, losses(wasLost, op.Lost)...)
	for i, step := range op.Steps {
		if err := ctx.Err(); err != nil {
			return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; of its steps %d of %d are done", i, len(op.Steps))
		}
		if step.Action == takeback.Tidy && i > 0 && op.Steps[i-1].Action == takeback.Tidy {
			continue // with the first of them
		}
		if err := r.step(ctx, op, i); err != nil {
			if i == 0 && !r.cleared {
				r.m.drop(out.Undo, err)
			}
			if ctx.Err() != nil {
				return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; of its steps %d of %d are done", i, len(op.Steps))
			}
			return out, failure(fmt.Sprintf("undo step %d of %d", i+1, len(op.Steps)), err)
		}
		if step.Action != takeback.Tidy {
			out.Paths = append(out.Paths, step.Path)
		}
	}
	if r.foreign > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("of what was brought back, %d belonged to another user and belong to this process's now", r.foreign))
	}
	return out, nil
}

// check compares what is there with what the operation left.
func (r *restoring) check(ctx context.Context, op *takeback.Op) error {
	if len(op.Steps) == 0 {
		return sdk.Errorf(sdk.Conflict, "%s can't be undone", op.ID)
	}
	for i, step := range op.Steps {
		if i > 0 && step.After == absent || step.Action == takeback.Tidy {
			continue // the step before makes room
		}
		where := step.Path
		if step.Action == takeback.Move {
			where = step.From
		}
		now, err := r.at(ctx, where, step.After)
		if err != nil {
			return failure("undo", err)
		}
		if now.state != step.After && !r.force {
			return sdk.Errorf(sdk.Conflict, "%s has changed since %s (%s); nothing was undone", shown(where), op.ID, op.Summary).
				WithHint("force takes it back all the same, and keeps what is there now")
		}
		if step.Action == takeback.Remove && isSampled(now.state) && !r.force {
			return sdk.Errorf(sdk.Conflict, "%s is too long to tell whether it has changed since %s (%s); nothing was undone",
				shown(where), op.ID, op.Summary).
				WithHint("force takes it back all the same, and deletes what is there now")
		}
		if step.Action != takeback.Move || slices.ContainsFunc(op.Steps[:i],
			func(s takeback.Step) bool { return s.Path == step.Path }) {
			continue
		}
		if now, err := r.at(ctx, step.Path, absent); err != nil || now.state != absent {
			return sdk.Errorf(sdk.Conflict, "there is something at %s again; nothing was undone", shown(step.Path)).
				WithHint("move it away first")
		}
	}
	return nil
}

// opposite makes the operation that undoing is, with what it destroys.
func (r *restoring) opposite(ctx context.Context, op *takeback.Op) (takeback.Op, func(*takeback.Writer) error, error) {
	again := takeback.Op{Tool: "undo", Summary: "undo of " + op.Summary, Undoes: op.ID}
	type kept struct{ blob, path string }
	var keeps []kept
	for i, step := range op.Steps {
		if step.Action == takeback.Tidy {
			continue // what is put back there makes its directories
		}
		if step.Action == takeback.Move {
			again.Steps = append(again.Steps, takeback.Step{Action: takeback.Move, Path: step.From, From: step.Path,
				After: step.After})
			continue
		}
		now, err := r.at(ctx, step.Path, step.After)
		if err != nil {
			return again, nil, failure("undo", err)
		}
		back := now.step(takeback.Step{Action: takeback.Restore, Path: step.Path, After: cmp.Or(step.Undone, step.Before)})
		again.Lost = append(again.Lost, now.lost...)
		switch {
		case i > 0 && step.After == absent, now.state == absent, now.whole:
			back.Action = takeback.Remove
		default:
			back.Blob = fmt.Sprint(i)
			keeps = append(keeps, kept{back.Blob, step.Path})
		}
		if step.Action == takeback.Remove {
			back.After = absent
		}
		again.Steps = append(again.Steps, back)
	}
	slices.Reverse(again.Steps)
	return again, func(w *takeback.Writer) error {
		for _, k := range keeps {
			err := r.env.Workspace.Look(guard.Write, k.path, func(tree *workspace.Tree) error {
				return keepTree(ctx, w, k.blob,
					tree)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// step takes one part back, or all the directories that are to be tidied up in a row.
func (r *restoring) step(ctx context.Context, op *takeback.Op, i int) error {
	w, step := r.env.Workspace, op.Steps[i]
	switch step.Action {
	case takeback.Move:
		return w.Move(step.From, step.Path, workspace.TransferOptions{})
	case takeback.Remove:
		err := w.Remove(ctx, step.Path, true, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case takeback.Tidy:
		var row []string
		for ; i < len(op.Steps) && op.Steps[i].Action == takeback.Tidy; i++ {
			row = append(row, op.Steps[i].Path)
		}
		return w.RemoveEmpty(row...)
	case takeback.Shrink:
		return r.shrink(step)
	case takeback.Restore:
		return r.restore(ctx, op, step)
	}
	return fmt.Errorf("the journal asks for %q, which is not known", step.Action)
}
