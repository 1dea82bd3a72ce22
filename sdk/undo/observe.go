package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// eventKind says what happened to a name.
type eventKind int

const (
	appeared eventKind = iota
	disappeared
	written    // a descriptor for writing was closed
	attributed // metadata was set
)

// observeEvents looks at what happened since the last time, and tells the operation's changes from others: each effect of the
// operation was announced before. What somebody else made of a name counts as its state before the operation from then on.
func (r *Recorder) observeEvents() {
	var closed []*entry
	for _, ev := range r.observer.readEvents() {
		if ev.movedDir {
			r.dirs.closeAll()
		}
		if ev.name == "" { // the directory itself, of which the one above it is not observed
			if e := r.byName[entryKey{nil, string(ev.dir.Name)}]; (e == nil || e.takeEffect(attributed) == nil) && ev.dir.Parent == none {
				r.rebaseDir(ev.dir, true)
			}
			continue
		}
		e := r.byName[entryKey{ev.dir, ev.name}]
		if e == nil { // not a name that the operation touched
			r.observeOther(ev)
			continue
		}
		if !r.explainEvent(e, ev.kind) {
			r.rebaseEvent(e, ev)
			continue
		}
		if ev.kind == written {
			closed = append(closed, e)
		}
	}
	for _, e := range closed {
		if e.current != nil && e.current.opens > 0 && !r.isOpen(e) {
			e.current.opens, e.opens = 0, 0 // the kernel made one event of several
		}
	}
}

// explainEvent reports whether an event at a name is an effect of the operation, and takes what is there now for what the
// operation made of it.
func (r *Recorder) explainEvent(e *entry, kind eventKind) bool {
	if kind == written {
		if e.current == nil || e.current.opens == 0 || e.opens == 0 {
			return false
		}
		e.current.opens--
		e.opens--
		r.adoptCurrent(e)
		return true
	}
	calls := e.takeEffect(kind)
	if len(calls) == 0 {
		return false
	}
	r.adoptCurrent(e)
	for _, c := range calls {
		switch {
		case c.kind == mutation.Remove:
			e.opens = 0 // the kernel tells nothing of files without a name
		case c.kind != mutation.Write:
			c.moveOpens()
		case c.object == nil && e.current != nil: // it created the file
			c.countOpen(e.current)
		}
	}
	return true
}

// isOpen reports whether somebody has the file at a name open for writing.
func (r *Recorder) isOpen(e *entry) bool {
	f, err := r.openNamed(e)
	if err != nil || f == nil {
		return true
	}
	defer func() { _ = f.Close() }()
	return checkUnused(f) != nil
}

// openNamed opens what is at a name now for reading.
func (r *Recorder) openNamed(e *entry) (*os.File, error) {
	if e.Dir == none {
		return r.openClosed(string(e.Name))
	}
	d := r.openObject(r.record.Objects[e.Dir])
	if d == nil {
		return nil, fs.ErrNotExist
	}
	return d.openName(string(e.Name))
}

// adoptCurrent attributes the present object at a name to the operation.
func (r *Recorder) adoptCurrent(e *entry) {
	if e.Dir == none {
		return // its object never changes
	}
	d, n := r.nodeOf(e)
	if n == nil {
		if e.current != nil {
			e.current.last = 0 // it has another name, or its directory can't be opened
		}
		e.current = nil
		return
	}
	e.current = r.objectAt(d, string(e.Name), n, true)
	e.current.last, e.current.known = n.Changed, n
	if e.current.isDir() {
		r.openDir(filepath.Join(d.path, string(e.Name))) // to be watched before the operation can close it
	}
}

// observeOther looks at what somebody else did to a name that the operation did not touch.
func (r *Recorder) observeOther(ev event) {
	if ev.kind <= disappeared {
		ev.dir.Foreign = ev.dir.Foreign || ev.dir.Moved != 0
		r.rebaseDir(ev.dir, false)
	}
	d := r.openObject(ev.dir)
	if d == nil {
		return
	}
	n, err := d.statName(ev.name)
	if err != nil || n == nil || r.byID[n.ID] == nil {
		return
	}
	switch o := r.byID[n.ID]; {
	case o.isDir() && ev.kind == appeared:
		r.objectAt(d, ev.name, n, false)
		o.Foreign = true
	case o.isDir():
		r.rebaseDir(o, true)
	default: // another name of a file that it touched
		r.rebaseFile(o)
	}
}

// rebaseEvent notes that somebody else changed the object at a name: its new state counts as that before the operation. The former
// state is not restored, but named.
func (r *Recorder) rebaseEvent(e *entry, ev event) {
	o := e.current
	if ev.kind == attributed && o != nil && o.isDir() {
		r.rebaseDir(o, true)
		return
	}
	if ev.kind <= disappeared {
		r.rebaseDir(ev.dir, false)
		var was *object // moved there
		if _, n := r.nodeOf(e); n != nil {
			if was = r.byID[n.ID]; was != nil {
				was.Foreign = true
			}
		}
		if r.rebaseName(e); was != nil && !was.isDir() {
			r.rebaseFile(was)
		}
	} else if o != nil && !o.isDir() {
		r.rebaseFile(o)
	}
}

// rebaseFile has all names of a file count as not touched yet.
func (r *Recorder) rebaseFile(o *object) {
	o.Foreign = true
	for _, e := range slices.Clone(r.record.Entries) {
		if e.current == o && !e.Foreign {
			r.rebaseName(e)
		}
	}
}

// rebaseName has a name count as not touched yet. A copy of the entry stands for the former state.
func (r *Recorder) rebaseName(e *entry) {
	if e.touched {
		former := *e
		former.Foreign, former.current = true, nil
		r.record.Entries = append(r.record.Entries, &former)
	}
	if o := e.current; o != nil {
		if o.Foreign = true; !o.Created {
			r.noteObject(o)
		}
	}
	e.Before, e.current = none, nil
	if d, n := r.nodeOf(e); n != nil {
		e.current = r.objectAt(d, string(e.Name), n, false)
		e.Before = e.current.index
	}
	if e.touched {
		e.touched = false
		r.noteEntry(e)
	}
}

// nodeOf returns what is at a name now.
func (r *Recorder) nodeOf(e *entry) (*openDir, *node) {
	if e.Dir == none {
		return nil, nil
	}
	d := r.openObject(r.record.Objects[e.Dir])
	if d == nil {
		return nil, nil
	}
	n, err := d.statName(string(e.Name))
	if err != nil {
		return nil, nil
	}
	return d, n
}

// rebaseDir has the time of a directory that somebody else changed count as that before the operation, and its other
// metadata if that is what they set.
func (r *Recorder) rebaseDir(o *object, metadata bool) {
	if o == nil {
		return
	}
	o.pinPlace()
	d := r.openObject(o)
	if d == nil {
		return
	}
	n, err := statFile(d.file)
	if err != nil {
		return
	}
	switch was := o.known; {
	case !metadata:
		o.Modified = n.Modified
	case n.Mode != was.Mode || n.UID != was.UID || n.GID != was.GID:
		if n.Mode != was.Mode {
			o.Mode = n.Mode
		}
		if n.UID != was.UID || n.GID != was.GID {
			o.UID, o.GID = n.UID, n.GID
		}
	default:
		o.Modified = n.Modified
		o.Attributes, err = d.readAttributes(".")
		r.noteUnread(d.path, err)
	}
	if o.known = n; !o.Created {
		r.noteObject(o)
	}
}

// openObject returns a directory that is open, or opens it.
func (r *Recorder) openObject(o *object) *openDir {
	for _, d := range r.dirs.all {
		if d.object == o {
			return d
		}
	}
	d := r.openDir(o.lastPath())
	if d == nil || d.object != o {
		return nil
	}
	return d
}
