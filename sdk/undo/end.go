package undo

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// RecordingResult describes a recorded operation after its end.
type RecordingResult struct {
	ID      string        // for undo; empty if the operation changed nothing or nothing could be kept
	Changes ChangeSummary // counts of changed paths
	Lost    []string      // changes that undo does not restore
	Missing string        // reason that undo is impossible; empty if it is possible
}

// Discard ends an operation that did not happen, and deletes its archive.
func (r *Recorder) Discard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopObserving()
	r.discardArchive()
}

// NoteCreatedTree attributes everything below a path to the operation when the operation ends. Use it for a tree that
// arrives as a whole, for example by a rename.
func (r *Recorder) NoteCreatedTree(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.findOrAddPathEntry(path); e != nil {
		e.whole = true
	}
}

// End ends the operation. It compares every touched name with its earlier state and completes the archive. An operation
// that changed nothing leaves no archive.
func (r *Recorder) End() RecordingResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endRecording()
}

func (r *Recorder) endRecording() RecordingResult {
	if r.ended {
		return RecordingResult{}
	}
	r.processEvents()
	for thread := range r.calls {
		r.forgetCall(thread)
	}
	r.stopObserving()
	if r.out != nil {
		d, err := openDirHandle(r.files, r.files.Dir())
		if err != nil && r.reopenWorkspace() {
			d, err = openDirHandle(r.files, r.files.Dir())
		}
		if err != nil {
			// The sandbox ends with its host: what is listed now would count as deleted.
			return RecordingResult{Missing: "the workspace could not be looked at when it ended"}
		}
		d.closeHandles()
	}
	changes := r.finishRecord()
	if r.restored != nil {
		r.record.Restored = r.restored()
	}
	r.noteFilesMovedBack()
	return r.completeArchive(changes)
}

// reopenWorkspace gives the owner of the workspace directory the permissions back that the operation took away.
func (r *Recorder) reopenWorkspace() bool {
	dir := r.files.Dir()
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	mode := info.Mode().Perm()
	if mode&0o700 == 0o700 || os.Chmod(dir, mode|0o700) != nil {
		return false
	}
	r.noteLostChange(fmt.Sprintf("%s (its mode was %03o, which locks out its owner; it is %03o now)", hiddentext.QuoteUnprintable(dir), mode, mode|0o700))
	return true
}

// noteFilesMovedBack notes files that the operation renamed or linked and then put back. Only their change time
// differs, so earlier operations on them can still be undone.
func (r *Recorder) noteFilesMovedBack() {
	for _, o := range r.record.Objects {
		if !o.isDir() && o.used && o.After != nil && o.After.Changed != o.Changed && !o.Created && !o.Foreign && !o.Written && !o.Attributed {
			r.record.Restored = append(r.record.Restored,
				restoredObject{Was: objectVersion{o.ID, o.Changed}, Now: objectVersion{o.ID, o.After.Changed}})
		}
	}
}

// stopObserving stops the ticker and closes watches and directories.
func (r *Recorder) stopObserving() {
	if r.ended = true; r.ticks != nil {
		close(r.ticks)
		r.ticks = nil
	}
	r.observer.closeWatches()
	r.dirs.closeAll()
}

func (r *Recorder) discardArchive() {
	if r.out != nil {
		r.out.deleteFile()
		r.out = nil
	}
}

// completeArchive finishes the archive with the record, or deletes the archive of an operation that changed nothing.
func (r *Recorder) completeArchive(changes ChangeSummary) RecordingResult {
	if r.broken != nil {
		r.record.Missing = stripErrorPath(r.broken).Error()
	}
	out := RecordingResult{Changes: changes, Lost: r.record.Lost, Missing: r.record.Missing}
	unchanged := changes.Total() == 0 && len(r.record.Lost) == 0
	if unchanged && (r.record.Undoes != "" || len(r.record.Restored) == 0 || out.Missing != "") {
		r.discardArchive()
		if r.record.Undoes == "" || r.record.Partly {
			return RecordingResult{}
		}
	}
	if unchanged { // it says which objects are as before, or that others undid what was left of the operation
		r.beginArchive()
		if r.broken != nil {
			return RecordingResult{}
		}
	}
	if out.Missing == "" && len(r.record.Lost) > 0 && !r.record.canRestoreAny() {
		r.record.Missing = r.record.Lost[0]
		out.Missing = r.record.Missing
	}
	r.record.Changes = &changes
	if !r.tool && !unchanged {
		r.record.Summary += changes.formatChanges(r.files.Dir())
	}
	if out.Missing != "" { // the history says at least that it took place
		r.discardArchive()
		r.record.ID, r.record.Time = r.store.newOperationID(), time.Now().UTC().Truncate(time.Millisecond)
		r.record.Objects, r.record.Entries = nil, nil
		r.store.addLatestID(r.record.ID)
		if a, err := r.store.createArchive(&r.record.Operation); err == nil {
			_ = a.finishArchive(&r.record)
		}
		return out
	}
	if err := r.out.finishArchive(&r.record); err != nil {
		_ = r.out.file.Close()
		out.Missing = fmt.Sprintf("its end could not be saved: %v; undo of %s with force restores the files that were saved", stripErrorPath(err), r.record.ID)
		return out
	}
	r.store.addLatestID(r.record.ID)
	r.store.countArchiveAndPrune(r.out.written)
	if !r.record.leftFilesUnchanged() {
		out.ID = r.record.ID
	}
	return out
}

// dropUnchangedAndCount removes the entries of names that the operation did not change, and counts the changes of the
// others.
func (r *Recorder) dropUnchangedAndCount() ChangeSummary {
	var c ChangeSummary
	exist, moved := map[int]bool{}, map[int]bool{}   // objects with a name after the operation, and with a new one
	linked, listed := map[int]bool{}, map[int]bool{} // objects of which a name was added or taken away, and counted ones
	for _, e := range r.record.Entries {
		if e.After != none {
			exist[e.After] = true
			moved[e.After] = moved[e.After] || e.Before != e.After && !e.Foreign
		}
		if e.Before != e.After {
			linked[e.Before], linked[e.After] = true, true
		}
	}
	kept := r.record.Entries[:0]
	type change struct {
		kind *int
		path string
	}
	counted := map[change]bool{} // a foreign copy of an entry has the same path
	count := func(kind *int, path string) {
		if !counted[change{kind, path}] {
			counted[change{kind, path}] = true
			c.countPath(kind, path)
		}
	}
	for _, e := range r.record.Entries {
		differs := e.Before != e.After || e.Before != none && r.record.Objects[e.Before].hasChanged()
		if e.Foreign && !differs { // undo gives the name what it had later
			later := r.byName[r.record.keyForEntry(e)]
			differs = later != nil && later.Before != e.Before
		}
		if differs || e.Before != none && linked[e.Before] {
			kept = append(kept, e)
		}
		if !differs || e.Foreign && (e.Before == none || !r.record.Objects[e.Before].used) {
			continue
		}
		var after *fileObject
		if e.After != none {
			after = r.record.Objects[e.After]
		}
		switch now, before := r.record.entryPath(e, (*operationRecord).afterDirPath), r.record.entryPath(e, (*operationRecord).beforeDirPath); {
		case e.Before == e.After, e.Foreign:
			if !listed[e.Before] {
				count(&c.Changed, now)
			}
			listed[e.Before] = true
		case e.Before != none && r.record.Objects[e.Before].temporary && (after == nil || after.temporary):
		case after == nil && !moved[e.Before]:
			count(&c.Deleted, before)
		case after == nil: // counted where it is now
		case !after.Created:
			count(&c.Moved, now)
		case e.Before != none && !exist[e.Before]:
			count(&c.Changed, now)
		default:
			count(&c.Made, now)
		}
	}
	r.record.Entries = slices.Clone(kept)
	if r.broken == nil && len(kept) > maxEntries {
		r.broken = errTooMany
	}
	return c
}

// hasChanged reports whether the operation changed the contents or metadata of a file that kept its name.
func (o *fileObject) hasChanged() bool {
	if o.After == nil {
		return true
	}
	if !o.used {
		return false // the operation asked for something that failed
	}
	if o.Foreign && (o.Written || o.Attributed) {
		return true // whose change it is can't be told, so it is named
	}
	other := o.After.Mode != uint32(o.Mode) || o.After.UID != o.UID || o.After.GID != o.GID || o.After.Attributes != nil
	if o.isDir() {
		return other || o.Attributed && o.After.Modified != o.Modified
	}
	return other || o.Shared || o.differsAfter() && (o.Written || o.Attributed)
}

// differsAfter reports whether a file differs after the operation. A write sets the change time before the size, so a
// program that writes at the beginning of the operation may leave the time the same.
func (o *fileObject) differsAfter() bool {
	return o.After.Changed != o.Changed || o.isRegular() && o.After.Size != o.Size
}

// canRestoreAny reports whether undo can restore at least one entry.
func (r *operationRecord) canRestoreAny() bool {
	exist := map[int]bool{}
	for _, e := range r.Entries {
		if e.After != none {
			exist[e.After] = true
		}
	}
	return slices.ContainsFunc(r.Entries, func(e *entryChange) bool {
		if e.Before == none {
			return true
		}
		o := r.Objects[e.Before]
		switch {
		case o.Content != 0, o.Prefix:
			return true
		case e.Before == e.After:
			return !o.isRegular() || o.After == nil || o.After.Modified == o.Modified && o.After.Size == o.Size
		}
		return exist[e.Before] || !o.isRegular() && !o.isUnrestorable()
	})
}
