package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// finishRecord finds the object that each touched name has after the operation, and counts the changes.
func (r *Recorder) finishRecord() ChangeSummary {
	r.record.Ended = time.Now().UnixNano()
	f := recordFinisher{Recorder: r, found: map[*fileObject]string{}, children: map[int][]*fileObject{}, entries: map[int][]*entryChange{},
		located: map[*fileObject]bool{}, claimed: map[*fileObject]bool{}}
	f.noteAllAfterObjects()
	r.record.setBeforePaths()
	return r.dropUnchangedAndCount()
}

// recordFinisher completes a record at the end of an operation. It walks from the workspace directories to every
// directory that the operation touched, also to moved ones.
type recordFinisher struct {
	*Recorder

	queue    []*fileObject
	found    map[*fileObject]string // current path of each directory
	children map[int][]*fileObject  // directories by the index of their first parent
	entries  map[int][]*entryChange // by index of their directory
	located  map[*fileObject]bool   // files at a name that the operation touched
	claimed  map[*fileObject]bool   // directories that arrived with all their contents
	opened   []visitedDir           // directories in the order of their visits
}

func (f *recordFinisher) noteAllAfterObjects() {
	for _, o := range f.record.Objects {
		switch {
		case !o.isDir():
		case o.Parent == none && o.Name != "":
			f.enqueueDir(o, string(o.Name))
		case o.Parent != none:
			f.children[o.Parent] = append(f.children[o.Parent], o)
		}
	}
	for _, e := range f.record.Entries {
		f.entries[e.Dir] = append(f.entries[e.Dir], e)
	}
	for _, e := range f.entries[none] {
		f.noteSingleFileAfter(e)
	}
	f.visitQueuedDirs()
	for _, o := range f.record.Objects {
		if !o.isDir() || o.Now != "" || f.observer == nil {
			continue
		}
		if n, err := f.statDir(o.lastPath()); err == nil && n != nil && n.ID == o.ID { // somebody else moved it
			o.Foreign = true
			f.enqueueDir(o, o.lastPath())
			f.visitQueuedDirs()
		}
	}
	f.dirs.closeAll()
	f.noteRemainingLinks()
	f.useEqualVersions()
	f.markDisplacedEntries()
	f.restoreDirModes()
	f.dirs.closeAll()
	if f.observer != nil && f.observer.blind != "" {
		f.noteLostChange("files that others may have changed at the same time: " + f.observer.blind)
	}
}

func (f *recordFinisher) visitQueuedDirs() {
	for len(f.queue) > 0 {
		dir := f.queue[0]
		f.queue = f.queue[1:]
		f.noteDirAfterObjects(dir)
	}
}

// useEqualVersions replaces the former object of a name with a later version of the same file that is equal: another
// program only added or deleted one of the file's several names.
func (f *recordFinisher) useEqualVersions() {
	for _, e := range f.record.Entries {
		if e.Before == none || e.Foreign {
			continue
		}
		o := f.record.Objects[e.Before]
		later := f.byID[o.ID]
		isOther := later != nil && later != o && !later.Created && !o.isDir() && o.Links > 1 && !o.Written && !o.Attributed
		if isOther && o.Mode == later.Mode && o.UID == later.UID && o.GID == later.GID && o.Size == later.Size && o.Modified == later.Modified {
			e.Before = later.index
		}
	}
}

// markDisplacedEntries marks entries as foreign if another program moved or deleted their directory. It retains created
// directories that undo needs as a parent.
func (f *recordFinisher) markDisplacedEntries() {
	for _, e := range slices.Clone(f.record.Entries) {
		if e.Dir == none || e.Foreign {
			continue
		}
		dir := f.record.Objects[e.Dir]
		if e.After == none && f.found[dir] == "" && !f.wasDeletedOrMoved(dir) || e.Before != none && f.record.Objects[e.Before].removed {
			e.Foreign = true
		} else if e.Before != e.After && e.Before != none && !f.record.Objects[e.Before].Created {
			f.retainCreatedDir(dir)
		}
	}
}

// wasDeletedOrMoved reports whether the operation deleted or moved a directory or one of its parents.
func (f *recordFinisher) wasDeletedOrMoved(dir *fileObject) bool {
	for range maxDepth {
		if dir.removed || dir.used || dir.Parent == none {
			break
		}
		dir = f.record.Objects[dir.Parent]
	}
	return dir.used && !dir.removed
}

// retainCreatedDir makes undo keep or recreate a directory that the operation created. Undo needs the directory as the
// parent of a file that existed before the operation.
func (f *recordFinisher) retainCreatedDir(dir *fileObject) {
	for dir.Created && !dir.removed && dir.Parent != none {
		key := dir.pinned
		if key.dir == nil {
			key = dirEntryKey{f.record.Objects[dir.Parent], string(dir.Name)}
		}
		e := f.byName[key]
		if e == nil {
			e = &entryChange{Dir: key.dir.index, Name: rawName(key.name), Before: none, After: none}
			if string(dir.Now) == filepath.Join(string(key.dir.Now), key.name) {
				e.After = dir.index
			}
			f.byName[key] = e
			f.record.Entries = append(f.record.Entries, e)
		}
		if e.Before != none {
			return // the name is another's: undo names what it can't restore
		}
		e.Before, dir.Created, dir.temporary = dir.index, false, true
		dir = f.record.Objects[e.Dir]
	}
}

func (f *recordFinisher) enqueueDir(o *fileObject, path string) {
	if f.found[o] == "" {
		f.found[o] = path
		o.Now = rawName(path)
		f.queue = append(f.queue, o)
	}
}

// noteDirAfterObjects finds the objects at the touched names of one directory.
func (f *recordFinisher) noteDirAfterObjects(o *fileObject) {
	path := f.found[o]
	dir, was, restore := f.dirs.openInaccessible(path)
	if dir == nil {
		return
	}
	n, err := statOpenFile(dir.file)
	if err != nil || n.ID != o.ID {
		restore()
		delete(f.found, o) // another directory is there now
		o.Now = ""
		return
	}
	d := dir
	d.object = o
	for _, child := range f.children[o.index] {
		if now, statErr := dir.statName(string(child.Name)); statErr == nil && now != nil && now.ID == child.ID {
			f.enqueueDir(child, filepath.Join(path, string(child.Name)))
			child.After = now.toAfterState()
		}
	}
	for _, e := range f.entries[o.index] {
		f.noteAfterObject(d, e)
	}
	if o.Created && f.claimed[o] {
		f.addDirEntries(d)
	}
	n.Mode = was.Mode
	o.After = n.toAfterState()
	if o.Attributed && !o.Created && o.Attributes != nil { // nil if they could not be read
		if now, err := dir.readXattrs("."); err == nil && !maps.EqualFunc(o.Attributes, now, bytes.Equal) {
			o.After.Attributes = now
		}
	}
	f.opened = append(f.opened, visitedDir{o, path, restore})
}

// visitedDir is a directory with a function that restores its mode.
type visitedDir struct {
	*fileObject

	path    string
	restore func()
}

// restoreDirModes restores the modes of visited directories, innermost first, and notes the resulting state.
func (f *recordFinisher) restoreDirModes() {
	for _, o := range slices.Backward(f.opened) {
		o.restore()
		if n, err := f.statDir(o.path); err == nil && n != nil && n.ID == o.ID && n.Changed != o.After.Changed {
			attributes := o.After.Attributes
			o.After = n.toAfterState()
			o.After.Attributes = attributes
		}
	}
}

// statDir describes a directory, also one without read permission.
func (f *recordFinisher) statDir(path string) (*fileStat, error) {
	if parent := f.dirs.openDir(filepath.Dir(path)); parent != nil {
		return parent.statName(filepath.Base(path))
	}
	d := f.dirs.openDir(path)
	if d == nil {
		return nil, errNoDirectory
	}
	return statOpenFile(d.file)
}

// addDirEntries adds an entry for each name in a directory whose contents all belong to the operation.
func (f *recordFinisher) addDirEntries(d *cachedDir) {
	names, err := d.listNames()
	if err != nil {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if f.byName[dirEntryKey{d.object, name}] != nil {
			continue
		}
		e := &entryChange{Dir: d.object.index, Name: rawName(name), Before: none, After: none}
		f.byName[dirEntryKey{d.object, name}] = e
		f.record.Entries = append(f.record.Entries, e)
		e.whole = true
		if len(f.record.Entries) > maxEntries {
			f.broken = errTooMany
			return
		}
		f.noteAfterObject(d, e)
	}
}

// noteAfterObject notes the object that a name has after the operation.
func (f *recordFinisher) noteAfterObject(d *cachedDir, e *entryChange) {
	name := string(e.Name)
	n, err := d.statName(name)
	if err != nil {
		e.Foreign = true
		return
	}
	if n == nil {
		return
	}
	o := f.findOrAddObject(d, name, n, true)
	e.After, e.current = o.index, o
	f.noteAfterState(e, o, n, func() (io.ReadCloser, error) { return d.openChild(name) })
	if o.isDir() {
		f.claimed[o] = f.claimed[o] || e.whole
		f.enqueueDir(o, filepath.Join(d.path, name))
	}
}

// noteSingleFileAfter is noteAfterObject for a single file or the metadata of a directory.
func (f *recordFinisher) noteSingleFileAfter(e *entryChange) {
	if o := f.record.Objects[e.Before]; o.isDir() {
		e.After = e.Before
		return
	}
	n := statSingleFile(f.files, string(e.Name))
	if n == nil {
		return
	}
	o := f.byID[n.ID]
	if o == nil {
		o = newObject(n)
		o.Created = true
		f.addObject(o)
	}
	e.After = o.index
	f.noteAfterState(e, o, n, func() (io.ReadCloser, error) { return openSingleFile(f.files, string(e.Name)) })
}

// recentChange is the granularity of file times: two changes within it may have equal times. Of the supported file
// systems, only those that store whole seconds have a coarser clock.
const recentChange = 20 * time.Millisecond

var errTooMany = errors.New("it changed more paths than one operation can record")

// maxHashed is the size of the largest file that is hashed. Hashing it takes about 1 ms.
const maxHashed = 256 << 10

// noteAfterState notes the state of an object after the operation. A small file that changed very recently is also
// hashed.
func (f *recordFinisher) noteAfterState(e *entryChange, o *fileObject, n *fileStat, open func() (io.ReadCloser, error)) {
	f.located[o] = true
	if version := f.continued[n.ID]; version != nil {
		n = version
	} else if o.last != 0 && o.last != n.Changed && o.opens == 0 && !o.isDir() {
		o.Foreign = true // no event told of it: somebody changed it by another name
	}
	o.After = n.toAfterState()
	if f.continued == nil && n.Mode.IsRegular() && o.opens > 0 && !o.Created {
		if o.Shared = f.staysOpenForWriting(e); o.Shared {
			f.noteLostChange(hiddentext.QuoteUnprintable(f.entryPath(e)) + " (another program got it open for writing and may change it later)")
		}
		if _, now := f.statEntry(e); now != nil && now.ID == n.ID { // to open an unreadable file changed its change time
			o.After.Changed = now.Changed
		}
	}
	if !n.Mode.IsRegular() || n.Size > maxHashed || f.record.Ended-n.Changed > int64(recentChange) || o.After.Hash != "" {
		return
	}
	if file, err := open(); err == nil {
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err == nil {
			o.After.Hash = hex.EncodeToString(hash.Sum(nil))
		}
		_ = file.Close()
	}
}

// staysOpenForWriting reports whether a program still has the file at a name open for writing although the operation's
// processes have ended. The monitor, which opens files for them, may close its descriptor a moment later.
func (f *recordFinisher) staysOpenForWriting(e *entryChange) bool {
	for range 100 {
		if !f.isOpenForWriting(e) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// noteRemainingLinks searches the workspace for other hard links of files whose touched names are gone.
func (f *recordFinisher) noteRemainingLinks() {
	lost := map[FileIdentity]*fileObject{}
	for _, o := range f.record.Objects {
		if !o.isDir() && o.Links > 1 && !o.Created && !f.located[o] && o.ID != "" && f.byID[o.ID] == o {
			lost[o.ID] = o
		}
	}
	if len(lost) == 0 {
		return
	}
	dirs := newDirCache(f.files)
	dirs.walkTree(f.files.Dir(), func(dir *cachedDir, name string, n *fileStat) bool {
		o := lost[n.ID]
		if o == nil {
			return true
		}
		d := f.openAndRecordDir(dir.path)
		if d == nil {
			return true
		}
		delete(lost, n.ID)
		e := &entryChange{Dir: d.object.index, Name: rawName(name), Before: o.index, After: o.index, current: o, Foreign: o.Foreign}
		f.byName[dirEntryKey{d.object, name}] = e
		f.record.Entries = append(f.record.Entries, e)
		f.noteAfterState(e, o, n, func() (io.ReadCloser, error) { return d.openChild(name) })
		if n, err := statOpenFile(d.file); err == nil && d.object.Now == "" {
			d.object.Now, d.object.After = rawName(dir.path), n.toAfterState()
		}
		return len(lost) > 0
	})
	dirs.closeAll()
	f.dirs.closeAll()
}
