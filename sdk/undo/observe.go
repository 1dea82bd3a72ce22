package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// eventKind is the kind of change to a name.
type eventKind int

const (
	appeared eventKind = iota
	disappeared
	written    // a descriptor for writing was closed
	attributed // metadata was set
)

// processEvents reads new file events and separates the operation's changes from changes by other programs. A foreign
// change becomes part of the state before the operation.
func (r *Recorder) processEvents() {
	var closed []*entryChange
	reopened := r.reopened
	r.reopened = nil
	for _, ev := range r.observer.readEvents() {
		if ev.kind == attributed && slices.Contains(reopened, string(ev.dir.ID)+"/"+ev.name) {
			continue
		}
		if ev.movedDir {
			r.dirs.closeAll()
		}
		if ev.name == "" { // the directory itself, of which the one above it is not observed
			if e := r.byName[dirEntryKey{nil, string(ev.dir.Name)}]; (e == nil || e.takeMatchingCalls(attributed) == nil) && ev.dir.Parent == none {
				r.resetDirBaseline(ev.dir, true)
			}
			continue
		}
		e := r.byName[dirEntryKey{ev.dir, ev.name}]
		if e == nil { // not a name that the operation touched
			r.processForeignEvent(ev)
			continue
		}
		if !r.matchOwnEvent(e, ev.kind) {
			if ev.kind != attributed || !r.hasLostSpecialBits(e) {
				r.resetBaseline(e, ev)
			}
			continue
		}
		if ev.kind == written {
			closed = append(closed, e)
		}
	}
	for _, e := range closed {
		if e.current != nil && e.current.opens > 0 && !r.isOpenForWriting(e) {
			e.current.opens, e.opens = 0, 0 // the kernel made one event of several
		}
	}
}

// matchOwnEvent reports whether an announced call of the operation explains an event. If so, the current object at the
// name becomes the operation's result.
func (r *Recorder) matchOwnEvent(e *entryChange, kind eventKind) bool {
	if kind == written {
		if e.current == nil || e.current.opens == 0 || e.opens == 0 {
			return false
		}
		e.current.opens--
		e.opens--
		r.adoptCurrentObject(e)
		return true
	}
	calls := e.takeMatchingCalls(kind)
	if len(calls) == 0 {
		return false
	}
	r.adoptCurrentObject(e)
	for _, c := range calls {
		if e.current != nil && c.nameless {
			e.current.nameless, e.current.last = true, 0
		}
		switch {
		case c.kind == mutation.Remove:
			e.opens = 0 // the kernel tells nothing of files without a name
		case c.kind != mutation.Write:
			c.moveOpenCounts()
		case c.object == nil && e.current != nil && !e.current.isDir(): // it created the file
			c.countWriter(e.current)
		}
	}
	return true
}

// hasLostSpecialBits reports whether a file that the operation has open for writing differs only in its setuid or setgid
// bit, which the kernel clears at a write.
func (r *Recorder) hasLostSpecialBits(e *entryChange) bool {
	const bits = fs.ModeSetuid | fs.ModeSetgid
	_, n := r.statEntry(e)
	if n == nil || e.current == nil || e.opens == 0 || e.current.known == nil {
		return false
	}
	was := e.current.known
	e.current.known = n
	return n.ID == was.ID && n.UID == was.UID && n.GID == was.GID && n.Mode != was.Mode && n.Mode|bits == was.Mode|bits
}

// isOpenForWriting reports whether any program has the file at a name open for writing. It returns true if it can't tell:
// the operation's later writes would count as another program's.
func (r *Recorder) isOpenForWriting(e *entryChange) bool {
	var f *os.File
	var err error
	if e.Dir == none {
		f, err = openSingleFile(r.files, string(e.Name))
	} else if d, n := r.statEntry(e); n != nil && n.Mode.IsRegular() && e.current != nil { // a FIFO would wake its writer
		f, err = r.openOwnFile(d, string(e.Name), e.current)
	}
	if err != nil || f == nil {
		return true
	}
	defer func() { _ = f.Close() }()
	return checkNoWriter(f) != nil
}

// adoptCurrentObject attributes the current object at a name to the operation.
func (r *Recorder) adoptCurrentObject(e *entryChange) {
	if e.Dir == none {
		return // its object never changes
	}
	d, n := r.statEntry(e)
	if n == nil {
		if e.current != nil {
			e.current.last = 0 // it has another name, or its directory can't be opened
		}
		e.current = nil
		return
	}
	e.current = r.findOrAddObject(d, string(e.Name), n, true)
	if e.current.known = n; !e.current.nameless {
		e.current.last = n.Changed
	}
	if e.current.isDir() {
		r.openAndRecordDir(filepath.Join(d.path, string(e.Name))) // to be watched before the operation can close it
	}
}

// processForeignEvent handles a change by another program to a name that the operation did not touch.
func (r *Recorder) processForeignEvent(ev dirEntryEvent) {
	if ev.kind <= disappeared {
		ev.dir.Foreign = ev.dir.Foreign || ev.dir.Moved != 0
		r.resetDirBaseline(ev.dir, false)
	}
	d := r.openDirObject(ev.dir)
	if d == nil {
		return
	}
	n, err := d.statName(ev.name)
	if err != nil || n == nil || r.byID[n.ID] == nil {
		return
	}
	switch o := r.byID[n.ID]; {
	case o.isDir() && ev.kind == appeared:
		r.findOrAddObject(d, ev.name, n, false)
		o.Foreign = true
		r.resetDirBaseline(o, false)
	case o.isDir():
		r.resetDirBaseline(o, true)
	default: // another name of a file that it touched
		r.resetFileBaseline(o)
	}
}

// resetBaseline handles a change by another program to a touched name. The new state counts as the state before the
// operation, and undo reports the former state as a conflict.
func (r *Recorder) resetBaseline(e *entryChange, ev dirEntryEvent) {
	o := e.current
	if ev.kind == attributed && o != nil && o.isDir() {
		r.resetDirBaseline(o, true)
		return
	}
	if ev.kind <= disappeared {
		if ev.kind == disappeared && o != nil && o.isDir() {
			o.removed = true
		}
		r.resetDirBaseline(ev.dir, false)
		var was *fileObject // moved there
		if _, n := r.statEntry(e); n != nil {
			if was = r.byID[n.ID]; was != nil {
				was.Foreign = true
			}
		}
		switch r.resetEntryBaseline(e); {
		case was == nil:
		case was.isDir():
			r.resetDirBaseline(was, false)
		default:
			r.resetFileBaseline(was)
		}
	} else if o != nil && !o.isDir() {
		r.resetFileBaseline(o)
	}
}

func (r *Recorder) resetFileBaseline(o *fileObject) {
	o.Foreign = true
	for _, e := range slices.Clone(r.record.Entries) {
		if e.current == o && !e.Foreign {
			r.resetEntryBaseline(e)
		}
	}
}

// resetEntryBaseline makes the current object of a name the one before the operation. A foreign copy of the entry keeps
// the former state.
func (r *Recorder) resetEntryBaseline(e *entryChange) {
	if e.touched {
		former := *e
		former.Foreign, former.current = true, nil
		r.record.Entries = append(r.record.Entries, &former)
	}
	if o := e.current; o != nil {
		if o.Foreign = true; !o.Created {
			r.addObjectToJournal(o)
		}
	}
	e.Before, e.current = none, nil
	if d, n := r.statEntry(e); n != nil {
		e.current = r.findOrAddObject(d, string(e.Name), n, false)
		e.Before = e.current.index
	}
	if e.touched {
		e.touched = false
		r.addEntryToJournal(e)
	}
}

// statEntry describes the file that a name has now. It returns nil if there is none.
func (r *Recorder) statEntry(e *entryChange) (*cachedDir, *fileStat) {
	if e.Dir == none {
		return nil, nil
	}
	d := r.openDirObject(r.record.Objects[e.Dir])
	if d == nil {
		return nil, nil
	}
	n, err := d.statName(string(e.Name))
	if err != nil {
		return nil, nil
	}
	return d, n
}

// resetDirBaseline takes the current modification time of a directory as the one before the operation. With metadata,
// it also takes mode, owner and attributes.
func (r *Recorder) resetDirBaseline(o *fileObject, metadata bool) {
	if o == nil {
		return
	}
	o.recordParentNames()
	d := r.openDirObject(o)
	if d == nil {
		return
	}
	n, err := statOpenFile(d.file)
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
		if !o.Attributed { // one event may tell of several changes
			r.readDirXattrs(o, d)
		}
	default:
		o.Modified = n.Modified
		r.readDirXattrs(o, d)
	}
	if o.known = n; !o.Created {
		r.addObjectToJournal(o)
	}
}

func (r *Recorder) readDirXattrs(o *fileObject, d *cachedDir) {
	var err error
	o.Attributes, err = d.readXattrs(".")
	r.noteUnreadAttributes(d.path, err)
}

// openDirObject opens a directory at its last known path. It returns nil if the path is missing, or has another
// directory.
func (r *Recorder) openDirObject(o *fileObject) *cachedDir {
	for _, d := range r.dirs.all {
		if d.object == o {
			return d
		}
	}
	d := r.openAndRecordDir(o.lastPath())
	if d == nil || d.object != o {
		return nil
	}
	return d
}
