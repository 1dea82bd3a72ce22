package supervisor

import (
	"cmp"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// burstRecorder records a program's changes in bursts. Each burst is an operation of its own in the undo history. A
// burst ends with the client's turn, after quietTime without a new change, or after maxBurst.
//
// A burst ends between changes, so each change happens while the recorder that it was announced to is in use.
type burstRecorder struct {
	store   *undo.Store
	between func(func()) // runs a function while no change is under way
	ending  func()       // runs before a burst ends, and may change files
	done    chan struct{}

	mu       sync.Mutex
	recorder *undo.Recorder
	begun    time.Time            // of the burst's first change; zero before that change
	last     time.Time            // of its last change
	all      undo.RecordingResult // all bursts, with the id of the first one
}

const (
	quietTime = 2 * time.Second
	maxBurst  = 10 * time.Minute
)

func newBurstRecorder(store *undo.Store, files *workspace.Workspace, summary string, between func(func())) *burstRecorder {
	b := &burstRecorder{store: store, between: between, ending: func() {}, done: make(chan struct{}),
		recorder: store.NewRecorder(files, undo.RecordOptions{Tool: "run", Summary: summary, Observe: true})}
	go b.endQuietBursts()
	return b
}

// BeforeChange records a change before it happens.
func (b *burstRecorder) BeforeChange(m mutation.FileMutation) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last = time.Now(); b.begun.IsZero() {
		b.begun = b.last
	}
	return b.recorder.BeforeChange(m)
}

func (b *burstRecorder) endQuietBursts() {
	ticker := time.NewTicker(quietTime / 8)
	defer ticker.Stop()
	for {
		select {
		case <-b.done:
			return
		case <-ticker.C:
			b.endBurst(func() bool { return time.Since(b.last) >= quietTime || time.Since(b.begun) >= maxBurst })
		}
	}
}

// endBurst ends the burst if it has a change and is due, and begins the next one.
func (b *burstRecorder) endBurst(isDue func() bool) {
	b.between(func() {
		b.mu.Lock()
		isDue := !b.begun.IsZero() && isDue()
		b.mu.Unlock()
		if !isDue {
			return
		}
		b.ending()
		b.mu.Lock()
		defer b.mu.Unlock()
		ended, next := b.recorder.Split()
		b.addResult(ended)
		b.recorder, b.begun = next, time.Time{}
	})
}

// endRecording ends the last burst, and returns the result of all bursts.
func (b *burstRecorder) endRecording() undo.RecordingResult {
	close(b.done)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = time.Time{}
	b.addResult(b.recorder.End())
	b.store.Close()
	return b.all
}

const maxLost = 20 // changes without undo that a run lists

func (b *burstRecorder) addResult(r undo.RecordingResult) {
	a := &b.all
	a.ID = cmp.Or(a.ID, r.ID)
	a.Changes.Made += r.Changes.Made
	a.Changes.Changed += r.Changes.Changed
	a.Changes.Moved += r.Changes.Moved
	a.Changes.Deleted += r.Changes.Deleted
	a.Lost = append(a.Lost, r.Lost[:min(len(r.Lost), maxLost-len(a.Lost))]...)
	a.Missing = cmp.Or(a.Missing, r.Missing)
}
