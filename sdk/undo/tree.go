package undo

import (
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// KeepTree keeps a file or directory tree that is about to be deleted or replaced.
func (r *Recorder) KeepTree(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.keepTree(path)
		r.flushJournal()
	}
}

func (r *Recorder) keepTree(path string) {
	keep := func(path string) {
		if e := r.entryForPath(path); e != nil && e.current != nil {
			e.current.used = true
			r.keepContents(e, e.current)
		}
	}
	keep(path)
	if e := r.entryForPath(path); e == nil || e.current == nil || !e.current.isDir() {
		return
	}
	dirs := newDirCache(r.files)
	dirs.walkTree(path, func(d *cachedDir, name string, _ *fileNode) bool {
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
	e := &nameEntry{Dir: parent.object.index, Name: rawText(name), Before: none, After: none}
	r.byName[key] = e
	e.current = r.findOrAddObject(parent, name, n, true)
	r.addEntry(e)
	r.flushJournal()
}

// Append notes that a file is about to have something added to its end: its former contents are the beginning of the
// new ones, so they need not be kept.
func (r *Recorder) Append(path string) {
	_ = r.Notice(mutation.Mutation{Kind: mutation.Attribute, Path: path})
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entryForPath(path); e != nil && e.current != nil && e.current.isRegular() && !e.current.Created {
		e.current.Prefix, e.current.tried = true, true
		r.addObjectToJournal(e.current)
		r.flushJournal()
	}
}
