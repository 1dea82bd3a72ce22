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

// RecordOptions describe an operation to be recorded.
type RecordOptions struct {
	Tool    string
	Summary string
	// Observe distinguishes changes of the operation from changes that another program makes to the same files
	// meanwhile. Set it for operations that take longer than one system call.
	Observe bool
}

// Recorder keeps file contents and metadata that one operation is about to change. It is safe for concurrent use.
//
// Call [Recorder.BeforeChange] before each change. The recorder opens files only through the workspace, so it neither
// reads nor keeps a file that the policy does not open.
type Recorder struct {
	store *Store
	files *workspace.Workspace
	tool  bool // the operation is a tool call, whose summary does not list its changes

	mu       sync.Mutex
	record   operationRecord
	byID     map[FileIdentity]*fileObject
	byName   map[dirEntryKey]*entryChange
	dirs     dirCache
	observer *dirWatcher
	calls    map[int]*pendingSyscall // last call of each thread
	ticks    chan struct{}
	out      *archiveWriter // nil before the first change
	journal  bytes.Buffer
	objects  []*fileObject           // objects queued for the journal
	broken   error                   // reason that nothing more is kept
	restored func() []restoredObject // of an undo: lists recreated objects
	ended    bool
	reopened []string // names after the identity of their directory: withOwnerRead changed their modes since the last events
	// continued has the versions of files at the end that the next operation may still write to (see [Recorder.Split]).
	continued map[FileIdentity]*fileStat
}

type dirEntryKey struct {
	dir  *fileObject
	name string
}

const (
	maxEntries = 200_000 // names of one operation that are kept
	maxLost    = 20      // things that undo does not restore and that are named
	maxPath    = 4000    // bytes: the kernel opens no path of 4096, and undo needs room for names of its own
)

// NewRecorder begins recording an operation. It writes nothing to the store before the first change. Call
// [Recorder.End] at the end.
func (s *Store) NewRecorder(files *workspace.Workspace, o RecordOptions) *Recorder {
	r := &Recorder{
		store: s, files: files, tool: !o.Observe,
		record: operationRecord{Operation: Operation{Tool: o.Tool, Dir: files.Dir(), Summary: o.Summary}},
		byID:   map[FileIdentity]*fileObject{}, byName: map[dirEntryKey]*entryChange{}, calls: map[int]*pendingSyscall{},
	}
	r.dirs = newDirCache(files)
	if o.Observe {
		r.observer = newDirWatcher()
		r.ticks = make(chan struct{})
		go r.pollEvents(r.ticks)
	}
	return r
}

// findOrAddPathEntry returns the entry of a path and updates its current object. A new entry notes the object at the path as
// the one before the operation. It returns nil where the policy opens nothing.
func (r *Recorder) findOrAddPathEntry(path string) *entryChange {
	if path == "" {
		return nil
	}
	if len(path) > maxPath {
		r.noteLostExample(path, "paths of more than 4000 bytes")
		return nil
	}
	dir := r.openAndRecordDir(filepath.Dir(path))
	if dir == nil {
		if top := r.openAndRecordDir(path); top != nil { // a directory that the policy opens as a whole
			return r.findOrAddTopDirEntry(top)
		}
		for at := filepath.Dir(path); paths.Within(r.files.Dir(), at); at = filepath.Dir(at) {
			if isUnlistableDir(at) {
				r.noteLostChange(hiddentext.QuoteUnprintable(at) + " (a directory that can't be read)")
				return nil
			}
		}
		return r.findOrAddFileEntry(path)
	}
	dir.object.Touched = true
	name := filepath.Base(path)
	n, err := dir.statName(name)
	if err != nil {
		r.noteLostExample(path, "paths that can't be looked at")
		return nil
	}
	key := dirEntryKey{dir.object, name}
	e := r.byName[key]
	if e == nil {
		e = &entryChange{Dir: dir.object.index, Name: rawName(name), Before: none, After: none, touched: true}
		if n != nil {
			was := r.byID[n.ID]
			e.current = r.findOrAddObject(dir, name, n, false)
			e.Before = e.current.index
			if was != nil && was != e.current && (was.Written || was.Attributed) && !was.Created { // its former state is lost
				r.record.Entries = append(r.record.Entries,
					&entryChange{Dir: e.Dir, Name: e.Name, Before: was.index, After: none, Foreign: true})
			}
		}
		r.byName[key] = e
		r.addEntry(e)
	} else if e.current = nil; n != nil {
		e.current = r.findOrAddObject(dir, name, n, true)
	}
	if o := e.current; o != nil && o.last != 0 && o.last != n.Changed && o.opens == 0 && !e.expectsEffect(attributed) && !o.isDir() {
		r.resetFileBaseline(o) // no event told of the change: somebody else used another of its names
	}
	e.touched = true
	return e
}

// findOrAddTopDirEntry returns the entry of a directory whose parent the policy does not open. Only its metadata can change.
func (r *Recorder) findOrAddTopDirEntry(dir *cachedDir) *entryChange {
	key := dirEntryKey{nil, string(dir.object.Name)}
	e := r.byName[key]
	if e == nil {
		e = &entryChange{Dir: none, Name: dir.object.Name, Before: dir.object.index, After: none, current: dir.object}
		r.byName[key] = e
		r.addEntry(e)
	}
	return e
}

func (r *Recorder) addEntry(e *entryChange) {
	r.record.Entries = append(r.record.Entries, e)
	if len(r.record.Entries) > maxEntries && r.broken == nil {
		r.broken = fmt.Errorf("it changed more than %d paths", maxEntries)
	}
	r.addEntryToJournal(e)
}

// addEntryToJournal adds an entry and its created parents to the journal. It skips new names in new directories,
// because the end of the operation finds those.
func (r *Recorder) addEntryToJournal(e *entryChange) {
	if e.Dir == none {
		r.addJournalLine(journalLine{Entry: e})
		return
	}
	dir := r.record.Objects[e.Dir]
	if dir.Created && e.Before == none {
		return
	}
	for ; dir.Created && dir.Parent != none; dir = r.record.Objects[dir.Parent] {
		r.addObjectToJournal(dir)
	}
	r.addJournalLine(journalLine{Entry: e})
}

// findOrAddObject returns the object of a file that was found at a name. It adds an unknown object to the record. If
// the operation touched the name before (known), the operation created that object. At another name, an object that the
// operation created, or that another program changed, counts as foreign.
func (r *Recorder) findOrAddObject(dir *cachedDir, name string, n *fileStat, known bool) *fileObject {
	was := r.byID[n.ID]
	if was != nil && was.isDir() {
		was.setParent(dir.object, name)
		was.removed = false
	}
	if was != nil && n.ID != "" {
		theirs := !known && r.observer != nil && (was.Created || was.Foreign)
		if theirs && was.isDir() && was.Created {
			was.Created, was.Foreign = false, true
			was.Mode, was.UID, was.GID, was.Modified, was.known = n.Mode, n.UID, n.GID, n.Modified, n
			r.readObjectDetails(was, dir, name)
			r.addObjectToJournal(was)
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
		r.readObjectDetails(was, dir, name)
		r.addObjectToJournal(was)
		return was
	}
	if n.Mode.IsDir() {
		o.Parent, o.Name = dir.object.index, rawName(name)
		o.setParent(dir.object, name)
	}
	if !o.Created {
		r.readObjectDetails(o, dir, name)
	}
	r.addObject(o)
	return o
}

// readObjectDetails reads the target of a symlink, or the attributes of a directory or special file. Attributes of
// regular files are read with their contents, or before they change.
func (r *Recorder) readObjectDetails(o *fileObject, dir *cachedDir, name string) {
	switch {
	case o.Mode&fs.ModeSymlink != 0:
		if target, err := dir.readSymlink(name); err == nil && dir.holdsObject(name, o) {
			o.Target = rawName(target)
		}
	case !o.isRegular():
		if attributes, err := dir.readXattrs(name); dir.holdsObject(name, o) {
			o.Attributes = attributes
			r.noteUnreadAttributes(filepath.Join(dir.path, name), err)
		}
	}
}

// holdsObject reports whether a name still has an object. Another thread may have moved it.
func (d *cachedDir) holdsObject(name string, o *fileObject) bool {
	n, err := d.statName(name)
	return err == nil && n != nil && n.ID == o.ID
}

// keepAttributes notes the extended attributes of a regular file before the operation changes them.
func (r *Recorder) keepAttributes(e *entryChange) {
	if o := e.current; e.Dir != none && o.isRegular() && !o.Created && o.Attributes == nil {
		if d := r.openDirObject(r.record.Objects[e.Dir]); d != nil {
			if attributes, err := d.readXattrs(string(e.Name)); d.holdsObject(string(e.Name), o) {
				o.Attributes = attributes
				r.noteUnreadAttributes(r.entryPath(e), err)
				r.addObjectToJournal(o)
			}
		}
	}
}

// noteUnreadAttributes notes a loss if the attributes of a file can't be read.
func (r *Recorder) noteUnreadAttributes(path string, err error) {
	if err != nil {
		r.noteLostChange(fmt.Sprintf("%s (its extended attributes: %v)", hiddentext.QuoteUnprintable(path), stripErrorPath(err)))
	}
}

func (r *Recorder) addObject(o *fileObject) {
	o.index = len(r.record.Objects)
	r.record.Objects = append(r.record.Objects, o)
	if o.ID != "" {
		r.byID[o.ID] = o
	}
	if !o.Created {
		r.addObjectToJournal(o)
	}
}

// openAndRecordDir opens a directory and adds its object to the record the first time. It returns nil if the policy does not
// open it.
func (r *Recorder) openAndRecordDir(path string) *cachedDir {
	if r.dirs.all[path] == nil {
		r.openParent(path) // first, because opening many parents later would close the directory
	}
	d := r.dirs.openDir(path)
	if d == nil {
		return r.openUnreadableDir(path)
	}
	return r.recordDir(path, d)
}

// recordDir adds the object of an open directory to the record the first time.
func (r *Recorder) recordDir(path string, d *cachedDir) *cachedDir {
	if d == nil || d.object != nil {
		return d
	}
	n, err := statOpenFile(d.file)
	if err != nil {
		r.dirs.closeDir(path)
		return nil
	}
	name := filepath.Base(path)
	if d.object = r.byID[n.ID]; d.object == nil {
		o := newObject(n)
		o.mount, o.Name = n.Mount, rawName(path)
		o.setParent(nil, path)
		if parent := r.openParent(path); parent != nil {
			o.Parent, o.Name = parent.object.index, rawName(name)
			o.setParent(parent.object, name)
			e := r.byName[dirEntryKey{parent.object, name}]
			o.whole = parent.object.whole || e != nil && e.whole
			o.Created = e != nil || o.whole
		}
		if !o.Created {
			o.Attributes, err = d.readXattrs(".")
			r.noteUnreadAttributes(path, err)
		}
		r.addObject(o)
		d.object = o
	}
	if d.object.lastPath() != path { // it was moved
		if parent := r.openParent(path); parent != nil {
			d.object.setParent(parent.object, name)
		}
	}
	r.observer.watchDir(d.object, d.file)
	return d
}

// openParent opens the parent of a directory. It returns nil for a directory that the policy opens as a whole.
func (r *Recorder) openParent(path string) *cachedDir {
	if path == r.files.Dir() || path == filepath.Dir(path) {
		return nil
	}
	return r.openAndRecordDir(filepath.Dir(path))
}
