package main

import (
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// recording is the record of one call for undo. Without a store its methods do nothing.
type recording struct{ *undo.Recorder }

func (m *memory) record(env *sdk.Environment, tool, summary string) recording {
	if m.store == nil {
		return recording{}
	}
	return recording{m.store.Record(env.Workspace, undo.RecordOptions{Tool: tool, Summary: summary})}
}

// before keeps what a change is about to destroy.
func (r recording) before(kind mutation.Kind, path, to string) {
	if r.Recorder != nil {
		_ = r.Notice(mutation.Mutation{Kind: kind, Path: path, To: to})
	}
}

// beforeTree keeps what is at a path, with all that is in it if it is a directory.
func (r recording) beforeTree(path string) {
	if r.Recorder != nil {
		r.KeepTree(path)
	}
}

// claim has all that is below a path at the end count as the call's.
func (r recording) claim(path string) {
	if r.Recorder != nil {
		r.Claim(path)
	}
}

// end writes the record. Where the change can't be undone, or not all of it, a note says so.
func (r recording) end(id *string, notes *[]string) {
	if r.Recorder == nil {
		return
	}
	ended := r.End()
	*id = ended.ID
	switch {
	case ended.Missing != "":
		*notes = append(*notes, "this can't be undone: "+ended.Missing)
	case len(ended.Lost) > 0:
		*notes = append(*notes, "undo can't bring back: "+joined(ended.Lost))
	}
}

// fail ends the record of a change that failed: it is forgotten if the error says that nothing was changed.
func (r recording) fail(err error) {
	switch {
	case r.Recorder == nil:
	case workspace.IsUnchanged(err):
		r.Discard()
	default:
		r.End()
	}
}
