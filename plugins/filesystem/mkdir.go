package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type mkdirInput struct {
	Path string `json:"path" jsonschema:"Directory path" claim:"write"`
}

type mkdirOutput struct {
	Path    string `json:"path"`
	Created bool   `json:"created" jsonschema:"False if the directory existed"`
	recordedChange
}

// newDirMode is the mode of created directories, before the umask.
const newDirMode = 0o777

func newMkdirTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("mkdir", "Create a directory and parent directories.",
		func(_ context.Context, req *sdk.Request[mkdirInput]) (mkdirOutput, error) {
			if err := m.initOnce(&req.Environment); err != nil {
				return mkdirOutput{}, err
			}
			rec := undoRecording{}
			if top := outermostMissingDir(req.Workspace, req.Args.Path); top != "" {
				rec = m.beginRecording(&req.Environment, "mkdir", "mkdir: created "+top)
				rec.saveBeforeChange(mutation.Make, top, "")
				rec.addCreatedTree(top)
			}
			made, err := req.Workspace.MakeDir(req.Args.Path, newDirMode)
			if err != nil {
				rec.finishFailed(err)
			}
			if errors.Is(err, workspace.Exists) {
				return mkdirOutput{}, sdk.Errorf(sdk.Conflict, "failed to create directory: %s exists already and is no directory",
					hiddentext.QuoteUnprintable(req.Args.Path))
			}
			if err != nil {
				return mkdirOutput{}, newFailureError("create directory", err)
			}
			path, err := req.Workspace.AbsPath(req.Args.Path)
			if err != nil {
				return mkdirOutput{}, err
			}
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real // to be told, no more
			}
			out := mkdirOutput{Path: path, Created: made}
			rec.finish(&out.recordedChange)
			return out, nil
		},
		sdk.Traits{
			Idempotent: true, Sets: []string{picoclawSet, moduleSet},
			Permissions: []string{"fs.write"}, Risk: "low", SideEffects: []string{"filesystem_write"},
		})
}

// outermostMissingDir returns the outermost missing directory of a path; empty if none is missing.
func outermostMissingDir(w *workspace.Workspace, path string) (missing string) {
	path, err := w.AbsPath(path)
	if err != nil {
		return ""
	}
	if real, err := paths.Resolve(path); err == nil {
		path = real
	}
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := w.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = path
	}
	return missing
}
