package undo

import (
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// Split ends the operation and begins the next operation of the same program. Call it while no announced change is
// under way. A socket may be about to be bound: Split waits until it is, or maxCall.
//
// Invariant: each change belongs to one of the two operations, and the state after the first is the state before the
// second. Meanwhile, the program may write to files that it has open, which no call announces. The second operation
// keeps these files before the first one ends, and the first one takes the kept version as its result. So each write
// before that version belongs to the first operation, and each later write to the second. If the first operation
// touched no existing name of the file, a later write is a conflict.
func (r *Recorder) Split() (RecordingResult, *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.store.NewRecorder(r.files, RecordOptions{Tool: r.record.Tool, Summary: r.record.Summary, Observe: r.observer != nil})
	for r.processEvents(); r.expectsSocket(); r.processEvents() {
		time.Sleep(time.Millisecond)
		r.expireCalls(time.Now().Add(-maxCall))
	}
	r.continued, r.reopened = next.keepOpenFiles(r), next.reopened
	return r.endRecording(), next
}

func (r *Recorder) expectsSocket() bool {
	for _, c := range r.calls {
		if c.kind == mutation.Make && len(c.effects) > 0 {
			return true
		}
	}
	return false
}

// keepOpenFiles keeps the files that a former operation of the program has open for writing. It returns the versions
// that the former operation left.
func (r *Recorder) keepOpenFiles(former *Recorder) map[FileIdentity]*fileStat {
	r.mu.Lock()
	defer r.mu.Unlock()
	versions := map[FileIdentity]*fileStat{}
	for _, e := range former.record.Entries {
		o := e.current
		if o == nil || !o.isRegular() || o.ID == "" || o.opens == 0 && !o.nameless || e.Foreign {
			continue
		}
		path := string(e.Name)
		if e.Dir != none {
			path = filepath.Join(former.record.Objects[e.Dir].lastPath(), path)
		}
		own := r.findOrAddPathEntry(path)
		if own == nil || own.current == nil || own.current.ID != o.ID {
			continue
		}
		own.current.used, own.current.Written, own.current.nameless = true, true, o.nameless
		own.opens, own.current.opens = e.opens, o.opens
		r.keepContents(own, own.current)
		if _, n := r.statEntry(own); n != nil && n.ID == o.ID { // the contents are no newer than this version
			own.current.Changed, own.current.Modified = n.Changed, n.Modified
			versions[o.ID] = n
		}
		if !r.isOpenForWriting(own) { // closed, perhaps before its directory was watched
			r.processEvents()
			own.opens, own.current.opens = 0, 0
		}
	}
	r.flushJournal()
	return versions
}
