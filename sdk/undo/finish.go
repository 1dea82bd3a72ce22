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
)

// finishRecord notes the object that each name has after the operation, and counts the changes.
func (r *Recorder) finishRecord() Changes {
	r.record.Ended = time.Now().UnixNano()
	f := finisher{Recorder: r, found: map[*object]string{}, children: map[int][]*object{}, entries: map[int][]*entry{},
		located: map[*object]bool{}, claimed: map[*object]bool{}}
	f.findAll()
	r.record.setBefore()
	return r.countChanges()
}

// finisher walks from the directories that the policy opens to those that the operation touched, wherever they are now.
type finisher struct {
	*Recorder

	queue    []*object
	found    map[*object]string // path of a directory now
	children map[int][]*object  // directories by the one that they were met in
	entries  map[int][]*entry   // by their directory
	located  map[*object]bool   // files that have a name that the operation touched
	claimed  map[*object]bool   // directories that came with all that is in them
	opened   []opened           // directories that were visited
}

func (f *finisher) findAll() {
	for _, o := range f.record.Objects {
		switch {
		case !o.isDir():
		case o.Parent == none && o.Name != "":
			f.placeDir(o, string(o.Name))
		case o.Parent != none:
			f.children[o.Parent] = append(f.children[o.Parent], o)
		}
	}
	for _, e := range f.record.Entries {
		f.entries[e.Dir] = append(f.entries[e.Dir], e)
	}
	for _, e := range f.entries[none] {
		f.lookClosed(e)
	}
	f.visitAll()
	for _, o := range f.record.Objects {
		if !o.isDir() || o.Now != "" || f.observer == nil {
			continue
		}
		if n, err := f.statDir(o.lastPath()); err == nil && n != nil && n.ID == o.ID { // somebody else moved it
			o.Foreign = true
			f.placeDir(o, o.lastPath())
			f.visitAll()
		}
	}
	f.dirs.closeAll()
	f.findLinks()
	f.markDisplaced()
	f.closeAgain()
	f.dirs.closeAll()
	if f.observer != nil && f.observer.blind != "" {
		f.noteLost("files that others may have changed at the same time: " + f.observer.blind)
	}
}

func (f *finisher) visitAll() {
	for len(f.queue) > 0 {
		dir := f.queue[0]
		f.queue = f.queue[1:]
		f.visitDir(dir)
	}
}

// markDisplaced marks what is in directories that are not where they were although the operation did not take them
// away, and finds the directories that others need.
func (f *finisher) markDisplaced() {
	for _, e := range slices.Clone(f.record.Entries) {
		if e.Dir == none || e.Foreign {
			continue
		}
		dir := f.record.Objects[e.Dir]
		if e.After == none && f.found[dir] == "" && !f.isDeleted(dir) {
			e.Foreign = true
		} else if e.Before != e.After && e.Before != none && !f.record.Objects[e.Before].Created {
			f.bringBack(dir)
		}
	}
}

// isDeleted reports whether the operation deleted or moved a directory, or one above it.
func (f *finisher) isDeleted(dir *object) bool {
	for range maxDepth {
		if dir.used || dir.Parent == none {
			break
		}
		dir = f.record.Objects[dir.Parent]
	}
	return dir.used
}

// bringBack has undo make a directory that the operation created, and not delete it: something was in it that the
// operation did not create.
func (f *finisher) bringBack(dir *object) {
	for dir.Created && dir.Parent != none {
		key := dir.pinned
		if key.dir == nil {
			key = entryKey{f.record.Objects[dir.Parent], string(dir.Name)}
		}
		e := f.byName[key]
		if e == nil {
			e = &entry{Dir: key.dir.index, Name: rawText(key.name), Before: none, After: none}
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

func (f *finisher) placeDir(o *object, path string) {
	if f.found[o] == "" {
		f.found[o] = path
		o.Now = rawText(path)
		f.queue = append(f.queue, o)
	}
}

// visitDir looks at the names in one directory.
func (f *finisher) visitDir(o *object) {
	path := f.found[o]
	dir, was, restore := f.dirs.openAnyway(path)
	if dir == nil {
		return
	}
	n, err := statFile(dir.file)
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
			f.placeDir(child, filepath.Join(path, string(child.Name)))
			child.After = now.toState()
		}
	}
	for _, e := range f.entries[o.index] {
		f.lookAtName(d, e)
	}
	if o.Created && f.claimed[o] {
		f.claimAll(d)
	}
	if o.Attributed && !o.Created {
		now, err := dir.readAttributes(".")
		o.attributesDiffer = err == nil && !maps.EqualFunc(o.Attributes, now, bytes.Equal)
	}
	n.Mode = was.Mode
	o.After = n.toState()
	f.opened = append(f.opened, opened{o, path, restore})
}

// opened is a directory that may have been opened to its owner, to be closed again.
type opened struct {
	*object

	path    string
	restore func()
}

// closeAgain gives directories their modes back, the innermost first, and notes their state after that.
func (f *finisher) closeAgain() {
	for _, o := range slices.Backward(f.opened) {
		o.restore()
		if n, err := f.statDir(o.path); err == nil && n != nil && n.ID == o.ID && n.Changed != o.After.Changed {
			o.After = n.toState()
		}
	}
}

// statDir returns the node of a directory, also of one that is closed.
func (f *finisher) statDir(path string) (*node, error) {
	if parent := f.dirs.openDir(filepath.Dir(path)); parent != nil {
		return parent.statName(filepath.Base(path))
	}
	d := f.dirs.openDir(path)
	if d == nil {
		return nil, errNoDirectory
	}
	return statFile(d.file)
}

// claimAll adds an entry for everything in a directory.
func (f *finisher) claimAll(d *openDir) {
	names, err := d.listNames()
	if err != nil {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if f.byName[entryKey{d.object, name}] != nil {
			continue
		}
		e := &entry{Dir: d.object.index, Name: rawText(name), Before: none, After: none}
		f.byName[entryKey{d.object, name}] = e
		f.record.Entries = append(f.record.Entries, e)
		e.whole = true
		if len(f.record.Entries) > maxEntries {
			f.broken = errTooMany
			return
		}
		f.lookAtName(d, e)
	}
}

// lookAtName finds the object that a name holds after the operation.
func (f *finisher) lookAtName(d *openDir, e *entry) {
	name := string(e.Name)
	n, err := d.statName(name)
	if err != nil {
		e.Foreign = true
		return
	}
	if n == nil {
		return
	}
	o := f.objectAt(d, name, n, true)
	e.After, e.current = o.index, o
	f.noteLeft(e, o, n, func() (io.ReadCloser, error) { return d.openName(name) })
	if o.isDir() {
		f.claimed[o] = f.claimed[o] || e.whole
		f.placeDir(o, filepath.Join(d.path, name))
	}
}

// lookClosed is look for a single file, and for the metadata of a directory whose parent is closed.
func (f *finisher) lookClosed(e *entry) {
	if o := f.record.Objects[e.Before]; o.isDir() {
		e.After = e.Before
		return
	}
	n := statClosed(f.files, string(e.Name))
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
	f.noteLeft(e, o, n, func() (io.ReadCloser, error) { return openClosed(f.files, string(e.Name)) })
}

// recent is for how long two changes of a file may have the same time: no file system's clock is coarser, but for those
// that count seconds.
const recent = 20 * time.Millisecond

var errTooMany = errors.New("it changed more paths than are kept of one operation")

// maxHashed is up to how many bytes a file is hashed, and how long that takes at most: 1 ms.
const maxHashed = 256 << 10

// noteLeft notes the state in which the operation left an object.
func (f *finisher) noteLeft(e *entry, o *object, n *node, open func() (io.ReadCloser, error)) {
	f.located[o] = true
	if o.last != 0 && o.last != n.Changed && o.opens == 0 && !o.isDir() {
		o.Foreign = true // no event told of it: somebody changed it by another name
	}
	o.After = n.toState()
	if !n.Mode.IsRegular() || n.Size > maxHashed || f.record.Ended-n.Changed > int64(recent) || o.After.Hash != "" {
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

// findLinks finds files of several names of which the operation took all that it touched: another name may still be
// there.
func (f *finisher) findLinks() {
	lost := map[Identity]*object{}
	for _, o := range f.record.Objects {
		if !o.isDir() && o.Links > 1 && !o.Created && !f.located[o] && o.ID != "" && f.byID[o.ID] == o {
			lost[o.ID] = o
		}
	}
	if len(lost) == 0 {
		return
	}
	dirs := newDirCache(f.files)
	dirs.walkTree(f.files.Dir(), func(dir *openDir, name string, n *node) bool {
		o := lost[n.ID]
		if o == nil {
			return true
		}
		d := f.openDir(dir.path)
		if d == nil {
			return true
		}
		delete(lost, n.ID)
		e := &entry{Dir: d.object.index, Name: rawText(name), Before: o.index, After: o.index, current: o, Foreign: o.Foreign}
		f.byName[entryKey{d.object, name}] = e
		f.record.Entries = append(f.record.Entries, e)
		f.noteLeft(e, o, n, func() (io.ReadCloser, error) { return d.openName(name) })
		if n, err := statFile(d.file); err == nil && d.object.Now == "" {
			d.object.Now, d.object.After = rawText(dir.path), n.toState()
		}
		return len(lost) > 0
	})
	dirs.closeAll()
	f.dirs.closeAll()
}
