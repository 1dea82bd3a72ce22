package undo

import "path/filepath"

// eventKind says what happened to a name.
type eventKind int

const (
	appeared eventKind = iota
	disappeared
	written    // a descriptor for writing was closed
	attributed // metadata was set
)

// observe looks at what happened since the last time, and tells the operation's changes from others: each effect of the
// operation was announced before. Somebody else's change to a name that the operation touched makes the name or the
// object foreign, and undo leaves it alone.
func (r *Recorder) observe() {
	var closed []*entry
	for _, ev := range r.observer.events() {
		e := r.byName[entryKey{ev.dir, ev.name}]
		if ev.movedDir {
			r.dirs.clear()
		}
		if e == nil { // not a name that the operation touched
			ev.dir.Foreign = ev.dir.Foreign || ev.dir.Moved != 0 && ev.kind <= disappeared
			continue
		}
		switch ev.kind {
		case appeared:
			if e.creates == 0 {
				e.Foreign = true
				e.current.setForeign()
				r.adopt(e)
				e.current.setForeign()
				continue
			}
			e.creates--
			r.adopt(e)
		case disappeared:
			if e.removes == 0 {
				e.Foreign = true
				e.current.setForeign()
				continue
			}
			e.removes--
			r.adopt(e)
		case written:
			if e.current == nil || e.current.opens == 0 {
				e.Edited = true
				e.current.setForeign()
				r.refresh(e)
				continue
			}
			e.current.opens--
			closed = append(closed, e)
			r.adopt(e)
		case attributed:
			if e.attrs == 0 {
				e.Edited = true
				e.current.setForeign()
				r.refresh(e)
				continue
			}
			e.attrs = max(0, e.attrs-1)
			r.adopt(e)
		}
	}
	for _, e := range closed {
		if e.current != nil && e.current.opens > 0 && !r.isOpen(e) {
			e.current.opens = 0 // the kernel made one event of several
		}
	}
}

// isOpen reports whether somebody has the file at a name open for writing.
func (r *Recorder) isOpen(e *entry) bool {
	d := r.openObject(r.record.Objects[e.Dir])
	if d == nil {
		return true
	}
	f, err := d.open(string(e.Name))
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	return checkUnused(f) != nil
}

// adopt takes what is at a name now for what the operation made of it.
func (r *Recorder) adopt(e *entry) {
	if e.Dir == none {
		return
	}
	d := r.openObject(r.record.Objects[e.Dir])
	if d == nil {
		return
	}
	n, err := d.stat(string(e.Name))
	if err != nil || n == nil {
		e.current = nil
		return
	}
	e.current = r.objectAt(d, string(e.Name), n, true)
	e.current.last = n.Changed
	e.current.opens += e.opens
	e.opens = 0
	if e.current.isDir() {
		r.open(filepath.Join(d.path, string(e.Name))) // to be watched before the operation can close it
	}
}

// openObject returns a directory that is open, or opens it where it was met.
func (r *Recorder) openObject(o *object) *openDir {
	for _, d := range r.dirs.all {
		if d.object == o {
			return d
		}
	}
	d := r.open(r.record.metPath(o))
	if d == nil || d.object != o {
		return nil
	}
	return d
}

// refresh notes what somebody else made of a file besides its contents.
func (r *Recorder) refresh(e *entry) {
	d, o := r.openObject(r.record.Objects[e.Dir]), e.current
	if d == nil || o == nil || o.isDir() {
		return
	}
	if n, err := d.stat(string(e.Name)); err == nil && n != nil && n.ID == o.ID {
		o.Mode, o.UID, o.GID, o.Modified, o.Changed = n.Mode, n.UID, n.GID, n.Modified, n.Changed
	}
}

// setForeign notes that somebody else changed or moved a file. What is kept of it from now on is what they made of it.
func (o *object) setForeign() {
	if o != nil && !o.isDir() {
		o.Foreign, o.tried = true, false
	}
}
