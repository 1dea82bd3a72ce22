package undo

import (
	"path/filepath"
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
//     version belongs to the first operation, and each later write to the second.
func (r *Recorder) Split() (RecordingResult, *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.store.NewRecorder(r.files, RecordOptions{Tool: r.record.Tool, Summary: r.record.Summary, Observe: r.observer != nil})
	r.awaitCalls()
	r.continued = next.keepOpenFiles(r)
	return r.endRecording(), next
}

// awaitCalls waits until the effects of all announced calls are observed, or the calls have failed.
func (r *Recorder) awaitCalls() {
	for {
		r.processEvents()
		r.expireCalls(time.Now().Add(-maxCall))
		if !r.awaitsEffects() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *Recorder) awaitsEffects() bool {
	for _, c := range r.calls {
		if len(c.effects) > 0 {
			return true
		}
	}
	return false
}

// openFile is a file that two operations of a program have open for writing.
type openFile struct {
	entry *entryChange // of the former operation; nil if the operation did not touch the name
	own   *entryChange
}

// keepOpenFiles keeps the files that a former operation of the program has open for writing. It returns the versions
// that the former operation left.
func (r *Recorder) keepOpenFiles(former *Recorder) map[FileIdentity]*fileStat {
	r.mu.Lock()
	defer r.mu.Unlock()
	versions := map[FileIdentity]*fileStat{}
	files := map[*fileObject][]openFile{}
	keep := func(o *fileObject, e *entryChange, path string) {
		own := r.findOrAddPathEntry(path)
		if own == nil || own.current == nil || own.current.ID != o.ID {
			return
		}
		own.current.used, own.current.Written, own.current.nameless = true, true, o.nameless
		r.keepContents(own, own.current)
		if _, n := r.statEntry(own); n != nil && n.ID == o.ID { // the contents are no newer than this version
			own.current.Changed, own.current.Modified = n.Changed, n.Modified
			versions[o.ID] = n
			files[o] = append(files[o], openFile{e, own})
		}
	}
	for _, e := range former.record.Entries {
		if o := e.current; o != nil && o.mayBeOpen() && !e.Foreign {
			keep(o, e, former.currentPath(e))
		}
	}
	former.eachOpenFileElsewhere(func(o *fileObject, path string) { keep(o, nil, path) })
	former.processEvents()
	_ = r.observer.readEvents() // closed descriptors, which former does not count any more
	for o, names := range files {
		r.takeOverDescriptors(o, names, former)
	}
	r.flushJournal()
	return versions
}

// takeOverDescriptors takes over the counts of descriptors of a file, and calls that may open it.
func (r *Recorder) takeOverDescriptors(o *fileObject, names []openFile, former *Recorder) {
	opening := false
	for _, f := range names {
		f.own.current.opens = o.opens
		if f.entry != nil {
			f.own.opens = f.entry.opens
		}
		for thread, c := range former.calls {
			if c.kind == mutation.Write && c.to == f.entry && c.object == o { // it may still fail
				r.calls[thread] = &pendingSyscall{at: c.at, kind: c.kind, to: f.own, object: f.own.current}
				opening = true
			}
		}
	}
	if !opening && !r.isOpenForWriting(names[0].own) { // closed meanwhile
		for _, f := range names {
			f.own.current.opens, f.own.opens = 0, 0
		}
	}
}

// mayBeOpen reports whether the operation may have a file open for writing.
func (o *fileObject) mayBeOpen() bool {
	return o.isRegular() && o.ID != "" && (o.opens > 0 || o.nameless)
}

// currentPath returns the current path of an entry.
func (r *Recorder) currentPath(e *entryChange) string {
	if e.Dir == none {
		return string(e.Name)
	}
	return filepath.Join(r.record.Objects[e.Dir].lastPath(), string(e.Name))
}

// eachOpenFileElsewhere calls fn for open files that have only names that the operation did not touch.
func (r *Recorder) eachOpenFileElsewhere(fn func(o *fileObject, path string)) {
	left := map[FileIdentity]*fileObject{}
	for _, o := range r.record.Objects {
		if o.mayBeOpen() && o.Links > 1 {
			left[o.ID] = o
		}
	}
	for _, e := range r.record.Entries {
		if e.current != nil {
			delete(left, e.current.ID)
		}
	}
	if len(left) == 0 {
		return
	}
	dirs := newDirCache(r.files)
	dirs.walkTree(r.files.Dir(), func(dir *cachedDir, name string, n *fileStat) bool {
		if o := left[n.ID]; o != nil {
			fn(o, filepath.Join(dir.path, name))
			delete(left, n.ID)
		}
		return len(left) > 0
	})
	dirs.closeAll()
}
