package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/journal"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// restoring takes an operation back. It goes the way of every change: through the workspace, and into the journal.
type restoring struct {
	env   *sdk.Environment
	m     *memory
	force bool

	cleared bool // something that was in the way has been removed
}

// at returns what is at a path, links not followed, and what state that is.
func (r *restoring) at(ctx context.Context, name string) (string, error) {
	now := absent
	err := r.env.Workspace.Look(guard.Write, name, func(tree *workspace.Tree) (err error) {
		now, err = state(ctx, tree)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	return now, err
}

// neverHappened reports whether the files are as they were before: the process was killed between writing the journal
// and the change.
func (r *restoring) neverHappened(ctx context.Context, op *journal.Op) bool {
	if op.Missing != "" || len(op.Steps) == 0 {
		return false
	}
	for _, step := range op.Steps {
		before, where := step.Before, step.Path
		switch step.Action {
		case journal.Tidy:
			continue
		case journal.Remove:
			before = absent
		case journal.Move:
			before, where = absent, step.From
			if len(op.Steps) > 1 {
				return false // something was there before; it can't be told apart
			}
		case journal.Restore, journal.Shrink:
		}
		if now, err := r.at(ctx, where); err != nil || now != before || now == step.After {
			return false
		}
	}
	return true
}

// undo takes an operation back, if the files are still what it left, and writes down how to do it again.
func (r *restoring) undo(ctx context.Context, op *journal.Op) (undoOutput, error) {
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
	for i, step := range op.Steps {
		if err := ctx.Err(); err != nil {
			return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; of its steps %d of %d are done", i, len(op.Steps))
		}
		if err := r.step(ctx, op, step); err != nil {
			if i == 0 && !r.cleared {
				r.m.drop(out.Undo)
			}
			if ctx.Err() != nil {
				return out, sdk.Errorf(sdk.Cancelled, "undo was cancelled; of its steps %d of %d are done", i, len(op.Steps))
			}
			return out, failure(fmt.Sprintf("undo step %d of %d", i+1, len(op.Steps)), err)
		}
		if step.Action != journal.Tidy {
			out.Paths = append(out.Paths, step.Path)
		}
	}
	return out, nil
}

// check compares what is there with what the operation left.
func (r *restoring) check(ctx context.Context, op *journal.Op) error {
	if len(op.Steps) == 0 {
		return sdk.Errorf(sdk.Conflict, "%s can't be undone", op.ID)
	}
	for i, step := range op.Steps {
		if i > 0 && step.After == absent || step.Action == journal.Tidy {
			continue // the step before makes room
		}
		where := step.Path
		if step.Action == journal.Move {
			where = step.From
		}
		now, err := r.at(ctx, where)
		if err != nil {
			return failure("undo", err)
		}
		if now != step.After && !r.force {
			return sdk.Errorf(sdk.Conflict, "%s has changed since %s (%s); nothing was undone", shown(where), op.ID, op.Summary).
				WithHint("force takes it back all the same, and keeps what is there now")
		}
		if step.Action != journal.Move || slices.ContainsFunc(op.Steps[:i], func(s journal.Step) bool { return s.Path == step.Path }) {
			continue
		}
		if now, err := r.at(ctx, step.Path); err != nil || now != absent {
			return sdk.Errorf(sdk.Conflict, "there is something at %s again; nothing was undone", shown(step.Path)).
				WithHint("move it away first")
		}
	}
	return nil
}

// opposite makes the operation that undoing is, with what it destroys.
func (r *restoring) opposite(ctx context.Context, op *journal.Op) (journal.Op, func(*journal.Writer) error, error) {
	again := journal.Op{Tool: "undo", Summary: "undo of " + op.Summary, Undoes: op.ID}
	type kept struct{ blob, path string }
	var keeps []kept
	for i, step := range op.Steps {
		if step.Action == journal.Tidy {
			continue // what is put back there makes its directories
		}
		if step.Action == journal.Move {
			again.Steps = append(again.Steps, journal.Step{Action: journal.Move, Path: step.From, From: step.Path, After: step.After})
			continue
		}
		now, err := r.at(ctx, step.Path)
		if err != nil {
			return again, nil, failure("undo", err)
		}
		back := journal.Step{Action: journal.Restore, Path: step.Path, Before: now, After: step.Before}
		switch {
		case i > 0 && step.After == absent, now == absent:
			back.Action = journal.Remove
		default:
			back.Blob = fmt.Sprint(i)
			keeps = append(keeps, kept{back.Blob, step.Path})
		}
		if step.Action == journal.Remove {
			back.After = absent
		}
		again.Steps = append(again.Steps, back)
	}
	slices.Reverse(again.Steps)
	return again, func(w *journal.Writer) error {
		for _, k := range keeps {
			err := r.env.Workspace.Look(guard.Write, k.path, func(tree *workspace.Tree) error { return keepTree(ctx, w, k.blob, tree) })
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// step takes one part back.
func (r *restoring) step(ctx context.Context, op *journal.Op, step journal.Step) error {
	w := r.env.Workspace
	switch step.Action {
	case journal.Move:
		return w.Move(step.From, step.Path, workspace.TransferOptions{})
	case journal.Remove:
		err := w.Remove(ctx, step.Path, true, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case journal.Tidy:
		return w.RemoveEmpty(step.Path)
	case journal.Shrink:
		return r.shrink(step)
	case journal.Restore:
		return r.restore(ctx, op, step)
	}
	return fmt.Errorf("the journal asks for %q, which is not known", step.Action)
}

// shrink cuts off what was added to the end.
func (r *restoring) shrink(step journal.Step) error {
	return r.env.Workspace.Apply(nil, workspace.Edit{Path: step.Path, Change: func(old *workspace.Old) ([]byte, error) {
		data, err := old.Bytes()
		if err != nil {
			return nil, err
		}
		if int64(len(data)) < step.Size || versions.Etag(data[:step.Size]) != step.Before {
			return nil, sdk.Errorf(sdk.Conflict, "%s has changed at its beginning too; nothing was undone", shown(step.Path))
		}
		return data[:step.Size], nil
	}})
}

// restore puts back what was kept: all of a directory, or nothing.
func (r *restoring) restore(ctx context.Context, op *journal.Op, step journal.Step) error {
	w := r.env.Workspace
	var info fs.FileInfo
	err := r.m.journal.Blob(op.ID, step.Blob, func(k journal.Kept) error {
		if info == nil {
			info = k.Header.FileInfo()
		}
		if info.IsDir() {
			return errLooked
		}
		if err := r.clear(ctx, step.Path, info); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return w.Symlink(k.Header.Linkname, step.Path)
		}
		data, err := io.ReadAll(k.Contents)
		if err != nil {
			return err
		}
		err = w.Apply(nil, workspace.Edit{Path: step.Path, Parents: true, Change: func(*workspace.Old) ([]byte, error) { return data, nil }})
		if err != nil {
			return err
		}
		return r.setMode(step.Path, info.Mode().Perm())
	})
	if !errors.Is(err, errLooked) {
		return err
	}
	return r.restoreDir(ctx, op, step, info)
}

var errLooked = errors.New("it has been looked at")

func (r *restoring) restoreDir(ctx context.Context, op *journal.Op, step journal.Step, info fs.FileInfo) error {
	w := r.env.Workspace
	if err := r.clear(ctx, step.Path, info); err != nil {
		return err
	}
	if missingAbove(w, step.Path) > 0 {
		if _, err := w.Mkdir(filepath.Dir(step.Path), moduleDirMode); err != nil {
			return err
		}
	}
	return w.Build(step.Path, info.Mode(), func(b *workspace.Building) error {
		return r.m.journal.Blob(op.ID, step.Blob, func(k journal.Kept) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			switch mode := k.Header.FileInfo().Mode(); {
			case k.Name == ".":
				return nil
			case mode.IsDir():
				return b.Mkdir(k.Name, mode)
			case mode&fs.ModeSymlink != 0:
				return b.Symlink(k.Header.Linkname, k.Name)
			default:
				return b.File(k.Name, mode, k.Contents)
			}
		})
	})
}

// setMode gives a file its mode back, if it has another.
func (r *restoring) setMode(name string, mode fs.FileMode) error {
	same := false
	err := r.env.Workspace.Look(guard.Write, name, func(tree *workspace.Tree) error {
		same = tree.Info.Mode().Perm() == mode
		return nil
	})
	if err != nil || same {
		return err
	}
	return r.env.Workspace.Chmod(name, mode)
}

// clear removes what is in the way of what is put back. A file stays: it gets its contents back, and keeps what it is besides.
func (r *restoring) clear(ctx context.Context, name string, info fs.FileInfo) error {
	now, err := r.at(ctx, name)
	if err != nil || now == absent {
		return err
	}
	file := !strings.HasPrefix(now, stateDir) && now != stateLink && now != stateSpecial
	if file && info.Mode().IsRegular() {
		return nil
	}
	r.cleared = true
	return r.env.Workspace.Remove(ctx, name, true, nil)
}
