package undo

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// RecordOptions say how an operation is recorded.
type RecordOptions struct {
	Tool    string
	Summary string
	// Observe tells changes of the operation from those that somebody else makes to the same files while it runs. It is for
	// operations that take longer than a call to the system.
	Observe bool
}

// Recorder keeps what one operation is about to change. It can be used concurrently.
//
// Each change is announced by [Recorder.Notice] before it is made. Files are opened through the workspace only, so what
// the policy does not open is neither read nor kept.
type Recorder struct {
	store *Store
	files *workspace.Workspace
	tool  bool // the operation is a tool's: its changes are counted in its summary

	mu       sync.Mutex
	record   record
	byID     map[Identity]*object
	byName   map[entryKey]*entry
	dirs     dirCache
	observer *observer
	calls    map[int]*call // the last one of each thread
	ticks    chan struct{}
	out      *archive // nil before the first change
	journal  bytes.Buffer
	objects  []*object         // to be noted in it
	broken   error             // why nothing is kept any more
	restored func() []restored // of an undo: what it put back
	ended    bool
}

type entryKey struct {
	dir  *object
	name string
}

const (
	maxEntries = 200_000 // names of one operation that are kept
	maxLost    = 20      // things that undo does not restore and that are named
	maxPath    = 4000    // bytes: the kernel opens no path of 4096, and undo needs room for names of its own
)

// Record begins an operation. It takes no room in the store before something changes. End it with [Recorder.End].
func (s *Store) Record(files *workspace.Workspace, o RecordOptions) *Recorder {
	r := &Recorder{
		store: s, files: files, tool: !o.Observe,
		record: record{Operation: Operation{Tool: o.Tool, Summary: o.Summary}},
		byID:   map[Identity]*object{}, byName: map[entryKey]*entry{}, calls: map[int]*call{},
	}
	r.dirs = newDirCache(files)
	if o.Observe {
		r.observer = newObserver()
		r.ticks = make(chan struct{})
		go r.observeEachTick()
	}
	return r
}

// touchPath returns the entry of a path, with the object that has the name now as its current one. The first time it notes
// what is there. It is nil where the policy opens nothing.
func (r *Recorder) touchPath(path string) *entry {
	if path == "" {
		return nil
	}
	if len(path) > maxPath {
		r.loseKind(path, "paths of more than 4000 bytes")
		return nil
	}
	dir := r.openDir(filepath.Dir(path))
	if dir == nil {
		if top := r.openDir(path); top != nil { // a directory that the policy opens as a whole
			return r.touchTop(top)
		}
		for at := filepath.Dir(path); at != r.files.Dir() && paths.Within(r.files.Dir(), at); at = filepath.Dir(at) {
			if isUnreadable(at) {
				r.noteLost(hiddentext.QuoteName(at) + " (a directory that can be changed and not read)")
				return nil
			}
		}
		return r.touchClosed(path)
	}
	dir.object.Touched = true
	name := filepath.Base(path)
	n, err := dir.statName(name)
	if err != nil {
		r.loseKind(path, "paths that can't be looked at")
		return nil
	}
	key := entryKey{dir.object, name}
	e := r.byName[key]
	if e == nil {
		e = &entry{Dir: dir.object.index, Name: rawText(name), Before: none, After: none, touched: true}
		if n != nil {
			was := r.byID[n.ID]
			e.current = r.objectAt(dir, name, n, false)
			e.Before = e.current.index
			if was != nil && was != e.current && was.Written && !was.Created { // its former contents stay away
				r.record.Entries = append(r.record.Entries,
					&entry{Dir: e.Dir, Name: e.Name, Before: was.index, After: none, Foreign: true})
			}
		}
		r.byName[key] = e
		r.addEntry(e)
	} else if e.current = nil; n != nil {
		e.current = r.objectAt(dir, name, n, true)
	}
	if o := e.current; o != nil && o.last != 0 && o.last != n.Changed && o.opens == 0 && !e.expectsEffect(attributed) && !o.isDir() {
		r.rebaseFile(o) // no event told of the change: somebody else used another of its names
	}
	e.touched = true
	return e
}

// touchTop returns the entry of a directory whose parent is closed: only its metadata can change.
func (r *Recorder) touchTop(dir *openDir) *entry {
	key := entryKey{nil, string(dir.object.Name)}
	e := r.byName[key]
	if e == nil {
		e = &entry{Dir: none, Name: dir.object.Name, Before: dir.object.index, After: none, current: dir.object}
		r.byName[key] = e
		r.addEntry(e)
	}
	return e
}

func (r *Recorder) addEntry(e *entry) {
	r.record.Entries = append(r.record.Entries, e)
	if len(r.record.Entries) > maxEntries && r.broken == nil {
		r.broken = fmt.Errorf("it changed more than %d paths", maxEntries)
	}
	r.noteEntry(e)
}

// noteEntry adds an entry to the journal, but for a new name in a new directory: that is found at its end.
func (r *Recorder) noteEntry(e *entry) {
	if e.Dir == none {
		r.addLine(journalLine{Entry: e})
		return
	}
	dir := r.record.Objects[e.Dir]
	if dir.Created && e.Before == none {
		return
	}
	for ; dir.Created && dir.Parent != none; dir = r.record.Objects[dir.Parent] {
		r.noteObject(dir)
	}
	r.addLine(journalLine{Entry: e})
}

// objectAt returns the object that has a name. Where the name is known and the object was not met, the operation created
// it. Where the name is not known, an object that the operation created, or somebody else changed, is theirs now.
func (r *Recorder) objectAt(dir *openDir, name string, n *node, known bool) *object {
	was := r.byID[n.ID]
	if was != nil && was.isDir() {
		was.setPlace(dir.object, name)
	}
	if was != nil && n.ID != "" {
		theirs := !known && r.observer != nil && (was.Created || was.Foreign)
		if theirs && was.isDir() && was.Created {
			was.Created, was.Foreign = false, true
			was.Mode, was.UID, was.GID, was.Modified, was.known = n.Mode, n.UID, n.GID, n.Modified, n
			r.describeObject(was, dir, name)
			r.noteObject(was)
		}
		if !theirs || was.isDir() {
			return was
		}
		was.Foreign = true
	}
	o := newObject(n)
	o.mount = n.Mount
	o.Created = known || dir.object.whole
	if was != nil && was.opens > 0 { // nobody can tell who writes to it
		o.opens, o.Foreign = was.opens, true
	}
	if was != nil && !was.used && !was.Created { // the operation did nothing to it
		o.index = was.index
		*was = *o
		r.describeObject(was, dir, name)
		r.noteObject(was)
		return was
	}
	if n.Mode.IsDir() {
		o.Parent, o.Name = dir.object.index, rawText(name)
		o.setPlace(dir.object, name)
	}
	if !o.Created {
		r.describeObject(o, dir, name)
	}
	r.addObject(o)
	return o
}

// describeObject notes the target of a symlink and the attributes of other objects. The attributes of a regular file are
// read when its contents are kept, or before they change.
func (r *Recorder) describeObject(o *object, dir *openDir, name string) {
	switch {
	case o.Mode&fs.ModeSymlink != 0:
		if target, err := dir.readTarget(name); err == nil && dir.has(name, o) {
			o.Target = rawText(target)
		}
	case !o.isRegular():
		if attributes, err := dir.readAttributes(name); dir.has(name, o) {
			o.Attributes = attributes
			r.noteUnread(filepath.Join(dir.path, name), err)
		}
	}
}

// has reports whether a name has an object still: another thread may have moved it since it was looked at.
func (d *openDir) has(name string, o *object) bool {
	n, err := d.statName(name)
	return err == nil && n != nil && n.ID == o.ID
}

// keepAttributes notes the attributes of a regular file before the operation changes them.
func (r *Recorder) keepAttributes(e *entry) {
	if o := e.current; e.Dir != none && o.isRegular() && !o.Created && o.Attributes == nil {
		if d := r.openObject(r.record.Objects[e.Dir]); d != nil {
			if attributes, err := d.readAttributes(string(e.Name)); d.has(string(e.Name), o) {
				o.Attributes = attributes
				r.noteUnread(r.entryPath(e), err)
				r.noteObject(o)
			}
		}
	}
}

// noteUnread names an object whose attributes can't be read.
func (r *Recorder) noteUnread(path string, err error) {
	if err != nil {
		r.noteLost(fmt.Sprintf("%s (its extended attributes: %v)", hiddentext.QuoteName(path), errorReason(err)))
	}
}

func (r *Recorder) addObject(o *object) {
	o.index = len(r.record.Objects)
	r.record.Objects = append(r.record.Objects, o)
	if o.ID != "" {
		r.byID[o.ID] = o
	}
	if !o.Created {
		r.noteObject(o)
	}
}

// openDir opens a directory, and notes what it is the first time; nil where the policy does not open it.
func (r *Recorder) openDir(path string) *openDir {
	d := r.dirs.openDir(path)
	if d == nil || d.object != nil {
		return d
	}
	n, err := statFile(d.file)
	if err != nil {
		r.dirs.closeDir(path)
		return nil
	}
	name := filepath.Base(path)
	if d.object = r.byID[n.ID]; d.object == nil {
		o := newObject(n)
		o.mount, o.Name = n.Mount, rawText(path)
		o.setPlace(nil, path)
		if parent := r.openParent(path); parent != nil {
			o.Parent, o.Name = parent.object.index, rawText(name)
			o.setPlace(parent.object, name)
			e := r.byName[entryKey{parent.object, name}]
			o.whole = parent.object.whole || e != nil && e.whole
			o.Created = e != nil || o.whole
		}
		if !o.Created {
			o.Attributes, err = d.readAttributes(".")
			r.noteUnread(path, err)
		}
		r.addObject(o)
		d.object = o
	}
	if d.object.lastPath() != path { // it was moved
		if parent := r.openParent(path); parent != nil {
			d.object.setPlace(parent.object, name)
		}
	}
	r.observer.watchDir(d.object, d.file)
	return d
}

// openParent opens the directory that contains another; nil for one that the policy opens as a whole.
func (r *Recorder) openParent(path string) *openDir {
	if path == r.files.Dir() || path == filepath.Dir(path) {
		return nil
	}
	return r.openDir(filepath.Dir(path))
}
