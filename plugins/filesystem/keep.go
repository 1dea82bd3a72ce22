package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk/takeback"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// keep writes what a change is about to destroy into the journal. What is too large for it is changed all the same: the
// outcome says so.
func (m *memory) keep(ctx context.Context, out *outcomes, c change, changed []workspace.Changed) error {
	if m.store == nil {
		return nil
	}
	op := takeback.Op{Tool: c.tool}
	for i, f := range changed {
		after := out.Files[i].Etag
		step := takeback.Step{Path: f.Old.Path, After: after}
		switch {
		case !f.Old.Exists():
			step.Action = takeback.Remove
		case len(changed) == 1 && c.edits[0].added:
			modified := f.Old.Info.ModTime()
			step.Action, step.Size, step.Modified = takeback.Shrink, f.Old.Info.Size(), &modified
		default:
			step.Action, step.Blob = takeback.Restore, fmt.Sprint(i)
		}
		if f.Old.Exists() {
			state, err := stateOfOld(ctx, f.Old, mostCompared)
			if err != nil {
				return err
			}
			step.Before = state
		}
		op.Steps = append(op.Steps, step)
	}
	op.Steps = append(op.Steps, tidying(changed)...)
	op.Summary = summarize(c.tool, changed)
	return m.write(op, &out.Undo, &out.Notes, func(w *takeback.Writer) error {
		for i, f := range changed {
			if op.Steps[i].Action != takeback.Restore {
				continue
			}
			if err := w.Keep(op.Steps[i].Blob, ".", f.Old.Info, "", f.Old.Reader()); err != nil {
				return err
			}
		}
		return nil
	})
}

// tidying are the steps that delete the directories that were made for files, the innermost first.
func tidying(changed []workspace.Changed) []takeback.Step {
	var steps []takeback.Step
	for _, f := range changed {
		for _, dir := range slices.Backward(f.Dirs) {
			step := takeback.Step{Action: takeback.Tidy, Path: dir}
			if !slices.Contains(steps, step) {
				steps = append(steps, step)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b takeback.Step) int { return len(b.Path) - len(a.Path) })
	return steps
}

func summarize(tool string, changed []workspace.Changed) string {
	first := changed[0]
	verb := "changed"
	if !first.Old.Exists() {
		verb = "made"
	}
	if len(changed) > 1 {
		return fmt.Sprintf("%s: changed %d files, %s and others", tool, len(changed), first.Old.Path)
	}
	return fmt.Sprintf("%s: %s %s", tool, verb, first.Old.Path)
}

// write writes an operation with what it keeps. An operation that is too large for the journal, and one that can't be
// written because there is no room, is not kept: id is empty then, and a note says why.
func (m *memory) write(op takeback.Op, id *string, notes *[]string, keep func(*takeback.Writer) error) error {
	w, err := m.store.Begin(op)
	if err == nil {
		if err = keep(w); err == nil {
			err = w.Commit()
		} else {
			err = errors.Join(err, w.Abort())
		}
	}
	if err == nil {
		*id = w.ID()
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var changing *fs.PathError
	if errors.As(err, &changing) && errors.Is(err, fs.ErrNotExist) {
		return err // what was to be kept is gone
	}
	m.writeUnkept(op, err, notes)
	return nil
}

// writeUnkept writes down that an operation was done that can't be undone, and why.
func (m *memory) writeUnkept(op takeback.Op, why error, notes *[]string) {
	*notes = append(*notes, fmt.Sprintf("this can't be undone: %v", why))
	op.Missing = why.Error()
	for i := range op.Steps {
		op.Steps[i].Blob = "" // what the operation was about still says whose it is
	}
	if w, err := m.store.Begin(op); err == nil {
		_ = w.Commit() // history says at least that it was done
	}
}

// drop forgets an operation that did not take place, as its error says.
func (m *memory) drop(id string, err error) {
	if id != "" && m.store != nil && workspace.Untouched(err) {
		_ = m.store.Drop(id)
	}
}

// keepTree writes a tree into an operation.
func keepTree(ctx context.Context, w *takeback.Writer, blob string, tree *workspace.Tree) error {
	first := map[[2]uint64]string{} // the name under which a file with several is kept
	return tree.Walk(func(e *workspace.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if id, ok := workspace.SeveralNames(e.Info); ok {
			if name, kept := first[id]; kept {
				return w.KeepName(blob, e.Name, name, e.Info)
			}
			first[id] = e.Name
		}
		switch mode := e.Info.Mode(); {
		case mode.IsDir():
			var attributes map[string]string
			if dir, err := e.OpenDir(); err == nil {
				attributes = attributesOf(dir)
				_ = dir.Close()
			}
			return w.KeepWith(attributes, blob, e.Name, e.Info, "", nil)
		case mode&fs.ModeNamedPipe != 0 && workspace.Makes(mode):
			return w.Keep(blob, e.Name, e.Info, "", nil)
		case mode&fs.ModeSymlink != 0:
			link, err := e.Readlink()
			if err != nil {
				return err
			}
			return w.Keep(blob, e.Name, e.Info, link, nil)
		case mode.IsRegular():
			f, err := e.Open()
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			return w.KeepWith(attributesOf(f), blob, e.Name, e.Info, "", f)
		}
		return nil // the operation says that it is lost
	})
}

// attributesOf returns extended attributes, none where they can't be read: the rest is worth keeping without them.
func attributesOf(f *os.File) map[string]string {
	all, err := workspace.Attributes(f)
	if err != nil {
		return nil
	}
	return all
}

// kept finds contents in the journal by their etag.
func kept(j *takeback.Store, etag string) (data []byte, ok bool) {
	_ = j.Each(func(op *takeback.Op) bool {
		for _, step := range op.Steps {
			if step.Before != etag || step.Blob == "" {
				continue
			}
			_ = j.Blob(op.ID, step.Blob, func(k takeback.Kept) error {
				if k.Name == "." && k.Header.Size <= mostDiffable {
					data, _ = io.ReadAll(k.Contents)
					ok = versions.Etag(data) == etag
				}
				return nil
			})
		}
		return !ok
	})
	return data, ok
}
