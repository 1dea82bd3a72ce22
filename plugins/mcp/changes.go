package main

import (
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// changeRecorder records the server's changes in the workspace for undo, and protects files from them. The kernel
// reports the process of a change, not the call. Overlapping calls are therefore one operation, and so are the changes
// between calls.
type changeRecorder struct {
	id    string
	env   *sdk.Environment // nil if changes are not reported
	store *undo.Store      // nil if undo is disabled

	mu          sync.Mutex
	activeCalls int // number of calls in progress
	operation   *activeUndoOperation
	between     time.Time   // begin of the operation between calls
	quiet       *time.Timer // ends that operation
}

// An operation between calls ends when there has been no change for quietTime, or after maxBetween.
const (
	quietTime  = 2 * time.Second
	maxBetween = time.Minute
)

// activeUndoOperation is an operation of the undo history that is in progress.
type activeUndoOperation struct {
	monitor  *workspace.ProtectionEnforcer
	recorder *undo.Recorder // nil if undo is disabled
}

// enableRecording opens the undo history when the server starts for the first time.
func (k *changeRecorder) enableRecording(id string, env *sdk.Environment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.id != "" {
		return // the server was restarted
	}
	k.id = id
	if env.Takeback.Dir != "" {
		k.store, _ = undo.Open(env.Takeback) // without a store, undo is disabled
	}
	if k.store != nil || env.Workspace.HasProtectedFiles() {
		k.env = env
	}
}

// newChangeObserver returns a function that passes the server's changes to the current operation.
func newChangeObserver[M any](notice func(*workspace.ProtectionEnforcer, M) error, k *changeRecorder) func(M) error {
	return func(m M) error {
		k.mu.Lock()
		if k.env == nil {
			k.mu.Unlock()
			return nil
		}
		if k.operation == nil {
			k.operation = k.newOperation(k.id+" (between calls)", false)
			k.between, k.quiet = time.Now(), time.AfterFunc(quietTime, k.finishBetweenCalls)
		}
		p := k.operation
		if k.activeCalls == 0 && time.Since(k.between) < maxBetween-quietTime {
			k.quiet.Reset(quietTime)
		}
		k.mu.Unlock()
		return notice(p.monitor, m)
	}
}

// newOperation starts an operation.
func (k *changeRecorder) newOperation(tool string, approved bool) *activeUndoOperation {
	p := &activeUndoOperation{}
	o := workspace.EnforcerOptions{Approved: approved, Background: true, Remedy: "; a person has to change it"}
	if k.store != nil {
		p.recorder = k.store.NewRecorder(k.env.Workspace, undo.RecordOptions{Tool: tool, Summary: tool, Observe: true})
		o.Next = p.recorder.BeforeChange
	}
	p.monitor = k.env.Workspace.NewChangeMonitor(o)
	return p
}

// beginCall adds a call to the current operation, or starts an operation. end ends the call, and returns a note for the
// agent about the changes and their undo id.
func (k *changeRecorder) beginCall(r *toolRequest, tool string) (end func() (note, undoID string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.env == nil {
		return func() (string, string) { return "", "" }
	}
	if k.activeCalls == 0 {
		k.finishOperation()
		k.operation = k.newOperation(tool, r.IsApproved())
	}
	k.activeCalls++
	return func() (string, string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.activeCalls--; k.activeCalls > 0 {
			return "", ""
		}
		return k.finishOperation()
	}
}

// finishBetweenCalls ends an operation between calls, unless a call has ended it already.
func (k *changeRecorder) finishBetweenCalls() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.activeCalls == 0 {
		k.finishOperation()
	}
}

// finishOperation ends the current operation, if there is one.
func (k *changeRecorder) finishOperation() (note, undoID string) {
	p := k.operation
	if p == nil {
		return "", ""
	}
	k.operation = nil
	notes := p.monitor.FinishMonitor().FormatNotes()
	if p.recorder != nil {
		recorded := p.recorder.End()
		undoID = recorded.ID
		lost := recorded.Lost
		if recorded.Missing != "" {
			lost = append([]string{recorded.Missing}, lost...)
		}
		if len(lost) > 0 {
			notes = append(notes, "not covered by undo: "+strings.Join(lost, ", "))
		}
	}
	return strings.Join(notes, "\n"), undoID
}

// close ends the current operation and closes the store.
func (k *changeRecorder) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finishOperation()
	if k.store != nil {
		k.store.Close()
	}
}
