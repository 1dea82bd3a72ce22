package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/takeback"
)

type undoInput struct {
	ID     string `json:"id,omitempty" jsonschema:"The operation to take back, as history lists it; the last one if not given"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"Only say what would be put back" default:"false"`
	Force  bool   `json:"force,omitempty" jsonschema:"Take it back although the files have changed since; what they are now is kept too" default:"false"`
}

type undoOutput struct {
	Undone  string   `json:"undone" jsonschema:"The operation that was taken back"`
	Summary string   `json:"summary"`
	Paths   []string `json:"paths" jsonschema:"What was put back"`
	Undo    string   `json:"undo,omitempty" jsonschema:"The operation that this was: to undo it is to do the other again"`
	DryRun  bool     `json:"dry_run,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// UndoID returns the operation in the undo history.
func (o undoOutput) UndoID() string { return o.Undo }

// Text says what was taken back.
func (o undoOutput) Text() string {
	if len(o.Paths) == 0 {
		return ""
	}
	shownPaths := make([]string, len(o.Paths))
	for i, path := range o.Paths {
		shownPaths[i] = shown(path)
	}
	what := "Undone"
	if o.DryRun {
		what = "Would be undone"
	}
	if more := len(shownPaths) - mostShown; more > 0 {
		shownPaths = append(shownPaths[:mostShown], fmt.Sprintf("and %d more", more))
	}
	return said(fmt.Sprintf("%s: %s\n%s", what, shown(o.Summary), strings.Join(shownPaths, "\n")), o.Notes)
}

// mostShown is how many paths the text of an undo names.
const mostShown = 50

func undo(m *memory) sdk.Tool {
	return sdk.NewTool("undo", "Take back a change to files, by a tool or a command: the last one, or the one that is named. "+
		"Brings back contents, mode and place.",
		func(ctx context.Context, req *sdk.Request[undoInput]) (undoOutput, error) {
			if err := m.ready(&req.Environment); err != nil {
				return undoOutput{}, err
			}
			r := restoring{env: &req.Environment, m: m, force: req.Args.Force}
			op, err := r.choose(ctx, req.Args.ID)
			if err != nil {
				return undoOutput{}, err
			}
			if op.Recorded {
				return r.undoRecorded(ctx, op, req.Args.DryRun)
			}
			if req.Args.DryRun {
				return r.dryRun(ctx, op)
			}
			return r.undo(ctx, op)
		},
		writes(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write", "fs.delete"}}))
}

// choose finds the operation that is meant: the last that was not taken back and did take place.
func (r *restoring) choose(ctx context.Context, id string) (*takeback.Op, error) {
	if id != "" {
		op, err := r.m.store.Op(id)
		if err != nil {
			return nil, sdk.Errorf(sdk.NotFound, "%v", err)
		}
		return op, undoable(op)
	}
	var last *takeback.Op
	var out string // where it leads out
	undone := map[string]bool{}
	err := r.m.store.Each(func(op *takeback.Op) bool {
		if op.Undoes != "" && !undone[op.ID] {
			undone[op.Undoes] = true
		}
		if op.Undoes != "" || undone[op.ID] {
			return true
		}
		if out = strayed(r.env, op); out == "" && (!permitted(r.env, op) || r.neverHappened(ctx, op)) {
			return true
		}
		last = op
		return false
	})
	if err != nil {
		return nil, err
	}
	if out != "" {
		return nil, sdk.Errorf(sdk.Conflict, "the last change, %s (%s), can't be undone: %s", last.ID, last.Summary,
			leadsOut).
			WithHint("remove the link on the way to %s, or name an older operation; history lists them", shown(out))
	}
	if last == nil {
		return nil, sdk.Errorf(sdk.NotFound, "there is nothing to undo")
	}
	return last, undoable(last)
}

func undoable(op *takeback.Op) error {
	if op.Missing == "" {
		return nil
	}
	return sdk.Errorf(sdk.Conflict, "%s (%s) can't be undone: %s", op.ID, op.Summary, op.Missing).
		WithHint("undo can name an older operation; history lists them")
}
