package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// transferOutput is the structured result of mv and cp.
type transferOutput struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Overwritten bool   `json:"overwritten,omitempty" jsonschema:"The destination existed"`
	recordedChange
}

// fileTransfer is a call of mv or cp.
type fileTransfer struct {
	tool, doing string
	ifMatch     string
	out         transferOutput
	rec         undoRecording
}

// runTransfer moves or copies with transfer, a method of the workspace, and returns the result.
func (t *fileTransfer) runTransfer(ctx context.Context, env *sdk.Environment, m *pluginState, source, destination string,
	overwrite bool, transfer func(source, destination string, o workspace.TransferOptions) error) (transferOutput, error) {
	if err := m.initOnce(env); err != nil {
		return transferOutput{}, err
	}
	err := transfer(source, destination,
		workspace.TransferOptions{Overwrite: overwrite, Last: t.newBeforeTransferHook(ctx, env, m), Stop: ctx.Err})
	if err != nil {
		t.rec.finishFailed(err)
		return transferOutput{}, t.toAgentError(env.Workspace, source, destination, err)
	}
	t.rec.finish(&t.out.recordedChange)
	return t.out, nil
}

// newBeforeTransferHook returns the function that checks the source's etag and saves replaced files before the
// transfer.
func (t *fileTransfer) newBeforeTransferHook(ctx context.Context, env *sdk.Environment, m *pluginState) func(*workspace.TransferPlan) error {
	return func(w *workspace.TransferPlan) error {
		t.out.Source, t.out.Destination, t.out.Overwritten = w.Source.Path, w.Destination, w.Replaced != nil
		if err := m.checkTreeEtag(ctx, env, w.Source, t.ifMatch, t.doing); err != nil {
			return err
		}
		t.rec = m.beginRecording(env, t.tool, fmt.Sprintf("%s: %s to %s", t.tool, w.Source.Path, w.Destination))
		if w.Replaced != nil {
			t.rec.saveTree(w.Destination)
		}
		if t.tool == "mv" {
			t.rec.saveBeforeChange(mutation.Rename, w.Source.Path, w.Destination)
		} else {
			t.rec.saveBeforeChange(mutation.Make, w.Destination, "")
			t.rec.addCreatedTree(w.Destination)
		}
		return nil
	}
}

// toAgentError converts an error to one for the agent, which names the missing path.
func (t *fileTransfer) toAgentError(w *workspace.Workspace, source, destination string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return sdk.Errorf(sdk.Cancelled, "failed to %s: it was stopped, and the partial copy was removed", t.doing)
	}
	said := newFailureError(t.doing, err)
	var own *sdk.Error
	if !errors.As(said, &own) || own.Code != sdk.NotFound {
		return said
	}
	if _, err := w.FileStatus(source); err != nil {
		return own.WithHint("there is no %s", hiddentext.QuoteUnprintable(source))
	}
	return sdk.Errorf(sdk.NotFound, "failed to %s: the directory of %s is missing", t.doing,
		hiddentext.QuoteUnprintable(destination)).
		WithHint("create it first, with mkdir")
}

type cpInput struct {
	Source      string `json:"source" jsonschema:"Source path" claim:"read"`
	Destination string `json:"destination" jsonschema:"Destination path" claim:"write"`
	Overwrite   bool   `json:"overwrite,omitempty" jsonschema:"Overwrite if exists; directories are replaced, not merged" default:"false"`
	IfMatch     string `json:"if_match,omitempty" jsonschema:"Copy only if the source has this etag"`
}

func newCpTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("cp", "Copy a file or directory.",
		func(ctx context.Context, req *sdk.Request[cpInput]) (transferOutput, error) {
			in := req.Args
			t := fileTransfer{tool: "cp", doing: "copy", ifMatch: in.IfMatch}
			return t.runTransfer(ctx, &req.Environment, m, in.Source, in.Destination, in.Overwrite, req.Workspace.CopyTree)
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}

type mvInput struct {
	Source      string `json:"source" jsonschema:"Source path; a symbolic link is moved, not its target" claim:"delete"`
	Destination string `json:"destination" jsonschema:"Destination path" claim:"write"`
	Overwrite   bool   `json:"overwrite,omitempty" jsonschema:"Overwrite if exists; directories are replaced, not merged" default:"false"`
	IfMatch     string `json:"if_match,omitempty" jsonschema:"Move only if the source has this etag"`
}

func newMvTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("mv", "Move or rename a file or directory.",
		func(ctx context.Context, req *sdk.Request[mvInput]) (transferOutput, error) {
			in := req.Args
			t := fileTransfer{tool: "mv", doing: "move", ifMatch: in.IfMatch}
			return t.runTransfer(ctx, &req.Environment, m, in.Source, in.Destination, in.Overwrite, req.Workspace.MoveTree)
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}
