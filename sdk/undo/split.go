package undo

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// Split ends the operation and begins the next operation of the same program. Announce no change to either recorder
// during Split: the caller holds back the program's calls.
//
// Invariant: each change belongs to one of the two operations, and the state after the first is the state before the
// second. Without announced calls, the program can change files in two ways:
//   - A call was announced, and has not happened yet. Split waits until events show the effect. A call without effect
//     after maxCall has failed.
//   - The program writes to a file that it has open, which no call announces. The second operation keeps these files
//     before the first one ends, and the first one takes the kept version as its result. So each write before that
//     version belongs to the first operation, and each later write to the second. If the first operation touched no
//     existing name of the file, a later write is a conflict.
func (r *Recorder) Split() (RecordingResult, *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.store.NewRecorder(r.files, RecordOptions{Tool: r.record.Tool, Summary: r.record.Summary, Observe: r.observer != nil})
	r.processEvents()
	isPending := func(c *pendingSyscall) bool { return len(c.effects) > 0 }
	for slices.ContainsFunc(slices.Collect(maps.Values(r.calls)), isPending) {
		time.Sleep(time.Millisecond)
		r.processEvents()
		r.expireCalls(time.Now().Add(-maxCall))
	}
	r.continued = next.keepOpenFiles(r)
	return r.endRecording(), next
}

// keepOpenFiles keeps the files that a former operation of the program has open for writing. It returns the versions
// that the former operation left.
func (r *Recorder) keepOpenFiles(former *Recorder) map[FileIdentity]*fileStat {
	r.mu.Lock()
	defer r.mu.Unlock()
	versions, entries := map[FileIdentity]*fileStat{}, map[*entryChange]*entryChange{}
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
		r.keepContents(own, own.current)
		if _, n := r.statEntry(own); n != nil && n.ID == o.ID { // the contents are no newer than this version
			own.current.Changed, own.current.Modified = n.Changed, n.Modified
			versions[o.ID], entries[e] = n, own
		}
	}
	former.processEvents()
	_ = r.observer.readEvents() // closed descriptors, which former does not count any more
	for e, own := range entries {
		if e.current == nil || e.current.ID != own.current.ID {
			continue // another program replaced it
		}
		own.opens, own.current.opens = e.opens, e.current.opens
		for thread, c := range former.calls {
			if c.kind == mutation.Write && c.object == e.current { // it may still open and truncate the file, or fail
				r.calls[thread] = &pendingSyscall{at: c.at, kind: c.kind, to: own, object: own.current}
				e.current.opening = true
			}
		}
		if !e.current.opening && !r.isOpenForWriting(own) { // closed meanwhile
			own.opens, own.current.opens = 0, 0
		}
	}
	r.flushJournal()
	return versions
}
