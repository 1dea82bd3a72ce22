package main

import (
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// keeper has what the server changes in the workspace kept for undo, and keeps it from what is protected. The kernel
// tells which process makes a change and not for which call, so calls that overlap are one operation; what the server
// does between calls is one too.
type keeper struct {
	id    string
	env   *sdk.Environment // nil where nothing tells of changes
	store *undo.Store      // nil where nothing is kept

	mu      sync.Mutex
	running int // calls
	period  *period
}

// period is the time of one operation.
type period struct {
	monitor  *workspace.ChangeMonitor
	recorder *undo.Recorder // nil where nothing is kept
}

// open prepares for changes of the server's.
func (k *keeper) open(id string, env *sdk.Environment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.id != "" {
		return // the server is started again
	}
	k.id = id
	if env.Takeback.Dir != "" {
		k.store, _ = undo.Open(env.Takeback) // where it can't be opened, nothing is kept
	}
	if k.store != nil || env.Workspace.Protects() {
		k.env = env
	}
}

// relay makes a function that is told of the server's changes. M is the type of a change.
func relay[M any](notice func(*workspace.ChangeMonitor, M) error, k *keeper) func(M) error {
	return func(m M) error {
		k.mu.Lock()
		if k.env == nil {
			k.mu.Unlock()
			return nil
		}
		if k.period == nil {
			k.period = k.newPeriod(k.id+" (between calls)", false)
		}
		p := k.period
		k.mu.Unlock()
		return notice(p.monitor, m)
	}
}

func (k *keeper) newPeriod(tool string, agreed bool) *period {
	p := &period{}
	o := workspace.MonitorOptions{Approved: agreed, Background: true}
	if k.store != nil {
		p.recorder = k.store.Record(k.env.Workspace, undo.RecordOptions{Tool: tool, Summary: tool, Observe: true})
		o.Next = p.recorder.Notice
	}
	p.monitor = k.env.Workspace.Monitor(o)
	return p
}

// begin begins a call. end returns a note for the agent about what the server has changed meanwhile, and its undo id.
func (k *keeper) begin(r *request, tool string) (end func() (note, undoID string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.env == nil {
		return func() (string, string) { return "", "" }
	}
	if k.running == 0 {
		k.finish()
		k.period = k.newPeriod(tool, r.Agreed())
	}
	k.running++
	return func() (string, string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.running--; k.running > 0 {
			return "", ""
		}
		return k.finish()
	}
}

// finish ends the operation, if there is one.
func (k *keeper) finish() (note, undoID string) {
	p := k.period
	if p == nil {
		return "", ""
	}
	k.period = nil
	notes := p.monitor.End().Notes()
	if p.recorder != nil {
		ended := p.recorder.End()
		undoID = ended.ID
		lost := ended.Lost
		if ended.Missing != "" {
			lost = append([]string{ended.Missing}, lost...)
		}
		if len(lost) > 0 {
			notes = append(notes, "not covered by undo: "+strings.Join(lost, ", "))
		}
	}
	return strings.Join(notes, "\n"), undoID
}

// close ends what is open when this process ends.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finish()
	if k.store != nil {
		k.store.Close()
	}
}
