package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/takeback"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type mkdirInput struct {
	Path string `json:"path" jsonschema:"Directory path" claim:"write"`
}

type mkdirOutput struct {
	Path    string `json:"path"`
	Created bool   `json:"created" jsonschema:"False if there was one already"`
	Undo    string `json:"undo,omitempty" jsonschema:"The operation, for undo"`
}

// UndoID returns the operation in the undo history.
func (o mkdirOutput) UndoID() string { return o.Undo }

// moduleDirMode is the mode of directories that are made, less the umask.
const moduleDirMode = 0o777

func mkdir(m *memory) sdk.Tool {
	return sdk.NewTool("mkdir", "Create a directory and parent directories.",
		func(_ context.Context, req *sdk.Request[mkdirInput]) (mkdirOutput, error) {
			if err := m.open(&req.Environment); err != nil {
				return mkdirOutput{}, err
			}
			parents := missingAbove(req.Workspace, req.Args.Path)
			made, err := req.Workspace.Mkdir(req.Args.Path, moduleDirMode)
			if errors.Is(err, workspace.Exists) {
				return mkdirOutput{}, sdk.Errorf(sdk.Conflict, "failed to create directory: %s exists already and is no directory",
					shown(req.Args.Path))
			}
			if err != nil {
				return mkdirOutput{}, failure("create directory", err)
			}
			path, err := req.Workspace.Abs(req.Args.Path)
			if err != nil {
				return mkdirOutput{}, err
			}
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real // to be told, no more
			}
			out := mkdirOutput{Path: path, Created: made}
			if !made || m.store == nil {
				return out, nil
			}
			steps := []takeback.Step{{Action: takeback.Remove, Path: path, After: stateEmpty()}}
			for dir := filepath.Dir(path); parents > 0; dir, parents = filepath.Dir(dir), parents-1 {
				steps = append(steps, takeback.Step{Action: takeback.Tidy, Path: dir})
			}
			var notes []string
			err = m.write(takeback.Op{
				Tool: "mkdir", Summary: fmt.Sprintf("mkdir: made %s", path), Steps: steps,
			}, &out.Undo, &notes, func(*takeback.Writer) error { return nil })
			return out, err
		},
		sdk.Traits{
			Idempotent: true, Sets: []string{picoclawSet, moduleSet},
			Permissions: []string{"fs.write"}, Risk: "low", SideEffects: []string{"filesystem_write"},
		})
}

// missingAbove counts the directories above a path that are not there. Should others make some meanwhile it makes no
// difference: of these, undo deletes only what is empty.
func missingAbove(w *workspace.Workspace, path string) int {
	var above []string
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		above = append(above, dir)
	}
	// One that is there has all those above it there too.
	return sort.Search(len(above), func(i int) bool {
		_, err := w.Stat(above[i])
		return !errors.Is(err, fs.ErrNotExist)
	})
}
