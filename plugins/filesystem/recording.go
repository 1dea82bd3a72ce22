package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// undoRecording records the changes of one call in the undo history. Without a history its methods do nothing.
type undoRecording struct{ *undo.Recorder }

func (m *pluginState) beginRecording(env *sdk.Environment, tool, summary string) undoRecording {
	if m.store == nil {
		return undoRecording{}
	}
	return undoRecording{m.store.NewRecorder(env.Workspace, undo.RecordOptions{Tool: tool, Summary: summary})}
}

// saveBeforeChange saves the file that a change is about to replace or delete.
func (r undoRecording) saveBeforeChange(kind mutation.Kind, path, to string) {
	if r.Recorder != nil {
		_ = r.BeforeChange(mutation.FileMutation{Kind: kind, Path: path, To: to})
	}
}

// saveTree saves everything at and below a path.
func (r undoRecording) saveTree(path string) {
	if r.Recorder != nil {
		r.KeepTree(path)
	}
}

// addCreatedTree records everything below a path as created by the call.
func (r undoRecording) addCreatedTree(path string) {
	if r.Recorder != nil {
		r.NoteCreatedTree(path)
	}
}

// recordedChange is the part of a result about undo.
type recordedChange struct {
	Undo  string   `json:"undo,omitempty" jsonschema:"ID of the operation, for undo"`
	Notes []string `json:"notes,omitempty" jsonschema:"Notes"`
}

// UndoID returns the id in the undo history.
func (c recordedChange) UndoID() string { return c.Undo }

// finish stores the record and sets the id. It adds a note if undo can't restore everything.
func (r undoRecording) finish(c *recordedChange) {
	if r.Recorder == nil {
		return
	}
	ended := r.End()
	c.Undo = ended.ID
	switch {
	case ended.Missing != "":
		c.Notes = append(c.Notes, "this can't be undone: "+ended.Missing)
	case len(ended.Lost) > 0:
		c.Notes = append(c.Notes, "undo can't bring back: "+joinQuotedNames(ended.Lost))
	}
}

// finishFailed ends the record of a failed change, and discards the record if nothing was changed.
func (r undoRecording) finishFailed(err error) {
	switch {
	case r.Recorder == nil:
	case workspace.IsNoChangeError(err):
		r.Discard()
	default:
		r.End()
	}
}

// pluginState is the plugin's state between calls: contents that the agent has read, and the undo history.
type pluginState struct {
	once  sync.Once
	err   error
	store *undo.Store // nil without an undo store
	seen  *versions.SeenContentStore
}

// initOnce initialises the state in the first call, because the configuration and directories are unknown before.
func (m *pluginState) initOnce(env *sdk.Environment) error {
	m.once.Do(func() { m.err = m.initState(env) })
	return m.err
}

func (m *pluginState) initState(env *sdk.Environment) error {
	m.seen = versions.OpenSeenContents("")
	if env.StateDir != "" {
		m.seen = versions.OpenSeenContents(filepath.Join(env.StateDir, "seen"))
	}
	if env.Takeback.Dir == "" {
		return nil
	}
	var err error
	m.store, err = undo.Open(env.Takeback)
	return err
}

// closeState saves the contents that the agent has read, and closes the undo store.
func (m *pluginState) closeState(context.Context) {
	if m.seen != nil {
		_ = m.seen.Save() // a conflict is then answered without a diff
	}
	if m.store != nil {
		m.store.Close()
	}
}
