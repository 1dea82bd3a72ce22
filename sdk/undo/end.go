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

// Ended says what is known of an operation that has ended.
type Ended struct {
	ID      string   // for undo; empty if nothing was changed, or nothing could be kept
	Changes Changes  // what it changed
	Lost    []string // what undo does not restore
	Missing string   // why it can't be undone; empty if it can
}

// Discard ends an operation that did not take place.
func (r *Recorder) Discard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	r.discard()
}

// Claim has everything below a path count as the operation's own when it ends. It is for a tree that came as a whole.
func (r *Recorder) Claim(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.touch(path); e != nil {
		e.whole = true
	}
}

// Err returns why nothing more can be kept, nil if it can.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// End ends the operation. It looks at every name that the operation touched, and forgets an operation that changed
// nothing.
func (r *Recorder) End() Ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return Ended{}
	}
	r.observe()
	for _, c := range r.calls {
		c.forget()
	}
	r.stop()
	if r.out != nil {
		if d, err := openDirectory(r.files, r.files.Dir()); err != nil {
			// The sandbox ends with its host: what is listed now would count as deleted.
			return Ended{Missing: "the workspace could not be looked at when it ended"}
		} else {
			d.close()
		}
	}
	changes := r.finish()
	if r.restored != nil {
		r.record.Restored = r.restored()
	}
	return r.write(changes)
}

// stop ends what the recorder holds open.
func (r *Recorder) stop() {
	if r.ended = true; r.ticks != nil {
		close(r.ticks)
		r.ticks = nil
	}
	r.observer.close()
	r.dirs.clear()
}

func (r *Recorder) discard() {
	if r.out != nil {
		r.out.discard()
		r.out = nil
	}
}

// write completes the archive.
func (r *Recorder) write(changes Changes) Ended {
	if r.broken != nil {
		r.record.Missing = reason(r.broken).Error()
	}
	out := Ended{Changes: changes, Lost: r.record.Lost, Missing: r.record.Missing}
	if changes.Total() == 0 && len(r.record.Lost) == 0 {
		r.discard()
		return Ended{}
	}
	if out.Missing == "" && len(r.record.Lost) > 0 && !r.record.canRestore() {
		r.record.Missing = r.record.Lost[0]
		out.Missing = r.record.Missing
	}
	r.record.Changes = &changes
	if !r.tool {
		r.record.Summary += changes.summary(r.files.Dir())
	}
	if out.Missing != "" { // the history says at least that it took place
		r.discard()
		r.record.ID, r.record.Time = r.store.newID(), time.Now().UTC().Truncate(time.Millisecond)
		r.record.Objects, r.record.Entries = nil, nil
		if a, err := r.store.createArchive(&r.record.Operation); err == nil {
			_ = a.end(&r.record)
		}
		return out
	}
	if err := r.out.end(&r.record); err != nil {
		r.broken = err
		out.Missing = reason(err).Error()
		return r.write(changes)
	}
	r.store.wrote(r.out.written)
	out.ID = r.record.ID
	return out
}

// finish finds out what each name holds now, and what that says of the operation.
func (r *Recorder) finish() Changes {
	r.record.Ended = time.Now().UnixNano()
	f := finisher{Recorder: r, found: map[*object]string{}, children: map[int][]*object{}, entries: map[int][]*entry{},
		located: map[*object]bool{}, claimed: map[*object]bool{}}
	f.run()
	r.record.setBefore()
	return r.count()
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

func (f *finisher) run() {
	for _, o := range f.record.Objects {
		switch {
		case !o.isDir():
		case o.Parent == none && o.Name != "":
			f.place(o, string(o.Name))
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
	for len(f.queue) > 0 {
		dir := f.queue[0]
		f.queue = f.queue[1:]
		f.visit(dir)
	}
	f.dirs.clear()
	f.findLinks()
	f.markDisplaced()
	f.closeAgain()
	f.dirs.clear()
	if f.observer != nil && f.observer.blind != "" {
		f.lose("files that somebody else may have changed at the same time: " + f.observer.blind)
	}
}

// markDisplaced marks what is in directories that are not where they were although the operation did not take them
// away.
func (f *finisher) markDisplaced() {
	touched := map[*object]bool{}
	for _, e := range f.record.Entries {
		if e.Before != none {
			touched[f.record.Objects[e.Before]] = true
		}
		touched[e.current] = true
	}
	for _, e := range f.record.Entries {
		if e.After != none || e.Dir == none || f.found[f.record.Objects[e.Dir]] != "" {
			continue
		}
		dir, moved := f.record.Objects[e.Dir], false
		for range maxDepth {
			if moved = moved || touched[dir]; moved || dir.Parent == none {
				break
			}
			dir = f.record.Objects[dir.Parent]
		}
		e.Foreign = e.Foreign || !moved
	}
}

func (f *finisher) place(o *object, path string) {
	if f.found[o] == "" {
		f.found[o] = path
		o.Now = rawText(path)
		f.queue = append(f.queue, o)
	}
}

// visit looks at the names in one directory.
func (f *finisher) visit(o *object) {
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
		if n, err := dir.stat(string(child.Name)); err == nil && n != nil && n.ID == child.ID {
			f.place(child, filepath.Join(path, string(child.Name)))
			child.After = n.state()
		}
	}
	for _, e := range f.entries[o.index] {
		f.look(d, e)
	}
	if o.Created && f.claimed[o] {
		f.claimAll(d)
	}
	if o.Attributed && !o.Created {
		o.attributesDiffer = !maps.EqualFunc(o.Attributes, dir.attributes("."), bytes.Equal)
	}
	n.Mode = was.Mode
	o.After = n.state()
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
			o.After = n.state()
		}
	}
}

// statDir returns the node of a directory, also of one that is closed.
func (f *finisher) statDir(path string) (*node, error) {
	if parent := f.dirs.open(filepath.Dir(path)); parent != nil {
		return parent.stat(filepath.Base(path))
	}
	d := f.dirs.open(path)
	if d == nil {
		return nil, errNoDirectory
	}
	return statFile(d.file)
}

// claimAll adds an entry for everything in a directory.
func (f *finisher) claimAll(d *openDir) {
	names, err := d.names()
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
		f.look(d, e)
	}
}

// look finds the object that a name holds after the operation.
func (f *finisher) look(d *openDir, e *entry) {
	name := string(e.Name)
	n, err := d.stat(name)
	if err != nil {
		e.Foreign = true
		return
	}
	if n == nil {
		return
	}
	o := f.objectAt(d, name, n, true)
	e.After, e.current = o.index, o
	f.left(e, o, n, func() (io.ReadCloser, error) { return d.open(name) })
	if o.isDir() {
		f.claimed[o] = f.claimed[o] || e.whole
		o.Foreign = o.Foreign || e.Foreign // somebody else moved it there
		f.place(o, filepath.Join(d.path, name))
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
		f.add(o)
	}
	e.After = o.index
	f.left(e, o, n, func() (io.ReadCloser, error) { return openClosed(f.files, string(e.Name)) })
}

// recent is for how long two changes of a file may have the same time: no file system's clock is coarser, but for those
// that count seconds.
const recent = 20 * time.Millisecond

var errTooMany = errors.New("it changed more paths than are kept of one operation")

// maxHashed is up to how many bytes a file is hashed, and how long that takes at most: 1 ms.
const maxHashed = 256 << 10

// left notes the state in which the operation left an object.
func (f *finisher) left(e *entry, o *object, n *node, open func() (io.ReadCloser, error)) {
	f.located[o] = true
	if o.last != 0 && o.last != n.Changed && o.opens == 0 && e.attrs == 0 && !o.isDir() {
		o.Foreign = true // no event told of it: somebody changed it by another name
	}
	o.After = n.state()
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
		if o.isRegular() && o.Links > 1 && !o.Created && !f.located[o] && o.ID != "" {
			lost[o.ID] = o
		}
	}
	if len(lost) == 0 {
		return
	}
	dirs := newDirCache(f.files)
	dirs.walk(f.files.Dir(), func(dir *openDir, name string, n *node) bool {
		o := lost[n.ID]
		if o == nil {
			return true
		}
		d := f.open(dir.path)
		if d == nil {
			return true
		}
		delete(lost, n.ID)
		e := &entry{Dir: d.object.index, Name: rawText(name), Before: o.index, After: o.index, current: o}
		f.byName[entryKey{d.object, name}] = e
		f.record.Entries = append(f.record.Entries, e)
		f.left(e, o, n, func() (io.ReadCloser, error) { return d.open(name) })
		if n, err := statFile(d.file); err == nil && d.object.Now == "" {
			d.object.Now, d.object.After = rawText(dir.path), n.state()
		}
		return len(lost) > 0
	})
	dirs.clear()
	f.dirs.clear()
}

// count drops the names that the operation did not change, and counts the others.
func (r *Recorder) count() Changes {
	var c Changes
	homes := map[int]bool{} // objects that have a name after the operation
	for _, e := range r.record.Entries {
		if e.After != none {
			homes[e.After] = true
		}
	}
	kept := r.record.Entries[:0]
	counted := map[int]bool{}
	for _, e := range r.record.Entries {
		if e.Before == e.After && (e.Before == none || !r.record.Objects[e.Before].differs()) {
			continue
		}
		kept = append(kept, e)
		var after *object
		if e.After != none {
			after = r.record.Objects[e.After]
		}
		switch now, before := r.record.path(e, (*record).nowPath), r.record.path(e, (*record).beforePath); {
		case e.Before == e.After:
			if !counted[e.After] {
				c.add(&c.Changed, now)
			}
			counted[e.After] = true
		case after == nil && !homes[e.Before]:
			c.add(&c.Deleted, before)
		case after == nil: // counted where it is now
		case !after.Created:
			c.add(&c.Moved, now)
		case e.Before != none && !homes[e.Before]:
			c.add(&c.Changed, now)
		default:
			c.add(&c.Made, now)
		}
	}
	r.record.Entries = slices.Clone(kept)
	if r.broken == nil && len(kept) > maxEntries {
		r.broken = errTooMany
	}
	return c
}

// differs reports whether the operation changed an object that kept its name.
func (o *object) differs() bool {
	if o.After == nil {
		return true
	}
	if !o.used {
		return false // the operation asked for something that failed
	}
	other := o.After.Mode != uint32(o.Mode) || o.After.UID != o.UID || o.After.GID != o.GID || o.attributesDiffer
	if o.isDir() {
		return other || o.Attributed && o.After.Modified != o.Modified
	}
	if other {
		return true
	}
	return o.After.Changed != o.Changed && (o.Content != 0 || o.Prefix || o.Attributed || o.After.Modified != o.Modified)
}

// canRestore reports whether undo could do anything about the operation.
func (r *record) canRestore() bool {
	exist := map[int]bool{}
	for _, e := range r.Entries {
		if e.After != none {
			exist[e.After] = true
		}
	}
	return slices.ContainsFunc(r.Entries, func(e *entry) bool {
		if e.Before == none {
			return true
		}
		o := r.Objects[e.Before]
		switch {
		case o.Content != 0, o.Prefix:
			return true
		case e.Before == e.After:
			return !o.isRegular() || o.After == nil || o.After.Modified == o.Modified && o.After.Size == o.Size
		}
		return exist[e.Before] || !o.isRegular() && !o.isUnmakeable()
	})
}
