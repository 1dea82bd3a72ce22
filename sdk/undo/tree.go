package undo

import (
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// KeepTree keeps a file or directory tree that is about to be deleted or replaced.
func (r *Recorder) KeepTree(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.keepTreeLocked(path)
		r.flushJournal()
	}
}

func (r *Recorder) keepTreeLocked(path string) {
	keep := func(path string) {
		if e := r.findOrAddPathEntry(path); e != nil && e.current != nil {
			e.current.used = true
			r.keepContents(e, e.current)
		}
	}
	keep(path)
	if e := r.findOrAddPathEntry(path); e == nil || e.current == nil || !e.current.isDir() {
		return
	}
	dirs := newDirCache(r.files)
	dirs.walkTree(path, func(d *cachedDir, name string, _ *fileStat) bool {
		keep(filepath.Join(d.path, name))
		return r.broken == nil
	})
	dirs.closeAll()
}

// NoteParentDir notes the state of a path's directory before anything in it changes. If the directory is missing, that
// is the nearest one above.
func (r *Recorder) NoteParentDir(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.openAndRecordDir(filepath.Dir(path)) != nil {
		return
	}
	var above []string
	for dir := path; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		above = append(above, dir)
	}
	found := false
	for _, dir := range slices.Backward(above) { // from the top, because a missing directory may be many levels down
		isOpen := r.openAndRecordDir(dir) != nil
		if found && !isOpen {
			return
		}
		found = isOpen
	}
}

// SetSummary sets the summary of an operation.
func (r *Recorder) SetSummary(summary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Summary = summary
}

// NoteCreatedDir notes a directory that the operation has created.
func (r *Recorder) NoteCreatedDir(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := r.openAndRecordDir(filepath.Dir(path))
	if parent == nil || r.ended {
		return
	}
	name := filepath.Base(path)
	key := dirEntryKey{parent.object, name}
	n, err := parent.statName(name)
	if err != nil || n == nil || r.byName[key] != nil {
		return
	}
	e := &entryChange{Dir: parent.object.index, Name: rawName(name), Before: none, After: none}
	r.byName[key] = e
	e.current = r.findOrAddObject(parent, name, n, true)
	r.addEntry(e)
	r.flushJournal()
}

// NoteAppend notes that a file is about to be appended to. Its former contents stay as a prefix of the new ones, so
// they are not kept.
func (r *Recorder) NoteAppend(path string) {
	_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Attribute, Path: path})
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.findOrAddPathEntry(path); e != nil && e.current != nil && e.current.isRegular() && !e.current.Created {
		e.current.Prefix, e.current.tried = true, true
		r.addObjectToJournal(e.current)
		r.flushJournal()
	}
}
