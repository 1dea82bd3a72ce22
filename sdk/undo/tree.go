package undo

import (
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// KeepTree keeps what is at a path, which is about to be deleted or replaced, with everything in it.
func (r *Recorder) KeepTree(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.keepTree(path)
		r.flushNotes()
	}
}

func (r *Recorder) keepTree(path string) {
	keep := func(path string) {
		if e := r.touchPath(path); e != nil && e.current != nil {
			e.current.used = true
			r.keepContents(e, e.current)
		}
	}
	keep(path)
	if e := r.touchPath(path); e == nil || e.current == nil || !e.current.isDir() {
		return
	}
	dirs := newDirCache(r.files)
	dirs.walkTree(path, func(d *openDir, name string, _ *node) bool {
		keep(filepath.Join(d.path, name))
		return r.broken == nil
	})
	dirs.closeAll()
}

// Visit notes what the directory of a path is, before anything in it is changed.
func (r *Recorder) Visit(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openDir(filepath.Dir(path))
}

// Describe sets the summary of an operation that was begun without.
func (r *Recorder) Describe(summary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Summary = summary
}

// Created notes that the operation has made a directory.
func (r *Recorder) Created(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := r.openDir(filepath.Dir(path))
	if parent == nil || r.ended {
		return
	}
	name := filepath.Base(path)
	key := entryKey{parent.object, name}
	n, err := parent.statName(name)
	if err != nil || n == nil || r.byName[key] != nil {
		return
	}
	e := &entry{Dir: parent.object.index, Name: rawText(name), Before: none, After: none}
	r.byName[key] = e
	e.current = r.objectAt(parent, name, n, true)
	r.addEntry(e)
	r.flushNotes()
}

// Append notes that a file is about to have something added to its end: its former contents are the beginning of the
// new ones, so they need not be kept.
func (r *Recorder) Append(path string) {
	_ = r.Notice(mutation.Mutation{Kind: mutation.Attribute, Path: path})
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.touchPath(path); e != nil && e.current != nil && e.current.isRegular() && !e.current.Created {
		e.current.Prefix, e.current.tried = true, true
		r.noteObject(e.current)
		r.flushNotes()
	}
}
