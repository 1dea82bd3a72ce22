package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type rmInput struct {
	Path      string `json:"path" jsonschema:"Path to delete; a symbolic link is deleted, not its target" claim:"delete"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"Required for directories" default:"false"`
	IfMatch   string `json:"if_match,omitempty" jsonschema:"Delete only if the file has this etag"`
}

type rmOutput struct {
	Path string `json:"path"`
	Type string `json:"type" jsonschema:"Type of the deleted object: file, dir, symlink or other"`
	recordedChange
}

func newRmTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("rm", "Delete a file or directory. undo can restore it for a while.",
		func(ctx context.Context, req *sdk.Request[rmInput]) (rmOutput, error) {
			if err := m.initOnce(&req.Environment); err != nil {
				return rmOutput{}, err
			}
			var out rmOutput
			var rec undoRecording
			err := req.Workspace.RemoveTree(ctx, req.Args.Path, req.Args.Recursive, func(doomed *workspace.FileTree) error {
				out.Path, out.Type = doomed.Path, fileType(doomed.Info)
				if err := m.checkTreeEtag(ctx, &req.Environment, doomed, req.Args.IfMatch, "delete"); err != nil {
					return err
				}
				rec = m.beginRecording(&req.Environment, "rm", fmt.Sprintf("rm: deleted %s %s", fileType(doomed.Info), doomed.Path))
				rec.saveTree(doomed.Path)
				return nil
			})
			if err == nil || errors.Is(err, workspace.Leftover) {
				rec.finish(&out.recordedChange)
			} else {
				rec.finishFailed(err)
			}
			switch {
			case errors.Is(err, workspace.Leftover):
				out.Notes = append(out.Notes, escapeMessage(err.Error()))
				return out, nil
			case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
				return rmOutput{}, sdk.Errorf(sdk.Cancelled, "failed to delete: it was stopped, and nothing is deleted")
			case errors.Is(err, workspace.IsDirectory):
				return rmOutput{}, sdk.Errorf(sdk.InvalidArgument, "failed to delete: %s is a directory", hiddentext.QuoteUnprintable(req.Args.Path)).
					WithHint("set recursive to delete it with everything in it")
			case err != nil:
				return rmOutput{}, newPathFailureError("delete", req.Args.Path, err)
			}
			return out, nil
		},
		sdk.Traits{
			Destructive: true, Sets: []string{picoclawSet, moduleSet},
			Permissions: []string{"fs.delete"}, Risk: "high", SideEffects: []string{"filesystem_delete"},
		})
}
