package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/internal/mutation"
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
	calls    map[int]call // the last one of each thread
	ticks    chan struct{}
	out      *archive // nil before the first change
	journal  bytes.Buffer
	broken   error             // why nothing is kept any more
	restored func() []restored // of an undo: what it put back
	ended    bool
}

// call is one that a thread was about to make. forget takes back what was expected of it.
type call struct {
	at     time.Time
	forget func()
	from   *entry // of a rename
	to     *entry
	object *object // what it moves
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
		byID:   map[Identity]*object{}, byName: map[entryKey]*entry{}, calls: map[int]call{},
	}
	r.dirs = newDirCache(files)
	if o.Observe {
		r.observer = newObserver()
		r.ticks = make(chan struct{})
		go r.tick()
	}
	return r
}

// tickInterval is how often changes are looked at beside the calls of the operation: the kernel makes one event of
// several that are the same, if nobody has read the first.
const tickInterval = 50 * time.Millisecond

// maxCall is how long a call may take that was let through, on a machine with much to do.
const maxCall = 2 * time.Second

func (r *Recorder) tick() {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-r.ticks:
			return
		case <-ticker.C:
			r.mu.Lock()
			if !r.ended {
				r.observe()
				r.expire(time.Now().Add(-maxCall))
			}
			r.mu.Unlock()
		}
	}
}

// expire forgets calls that were made long ago and had no effect: they failed.
func (r *Recorder) expire(before time.Time) {
	for thread, c := range r.calls {
		if c.at.Before(before) {
			c.forget()
			delete(r.calls, thread)
		}
	}
}

// Notice keeps what a change is about to destroy. It never refuses a change: what can't be kept is named by
// [Recorder.End].
func (r *Recorder) Notice(m mutation.Mutation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.observe()
	if c, ok := r.calls[m.Thread]; ok {
		c.forget()
		delete(r.calls, m.Thread)
	}
	switch m.Kind {
	case mutation.Unseen:
		r.lose(fmt.Sprintf("changes that could not be noticed: %v", m.Err))
	case mutation.Write:
		r.noticeWrite(m)
	case mutation.Make:
		if e := r.touch(m.Path); e != nil && e.current == nil {
			r.expect(m.Thread, func() { e.creates++ }, func() { e.creates = 0 })
		}
	case mutation.Attribute:
		if e := r.touch(m.Path); e != nil && e.current != nil {
			e.current.Attributed, e.current.used = true, true
			r.expect(m.Thread, func() { e.attrs++ }, func() {
				if e.attrs > 0 { // the kernel tells of no event where a time alone is set
					r.adopt(e)
				}
				e.attrs = 0
			})
		}
	case mutation.Remove:
		r.noticeRemove(m)
	case mutation.Rename:
		r.noticeRename(m)
	case mutation.Exchange:
		a, b := r.touch(m.Path), r.touch(m.To)
		r.noteMove(a)
		r.noteMove(b)
		r.dirs.dropTree(m.Path)
		r.dirs.dropTree(m.To)
		for _, e := range []*entry{a, b} {
			if e != nil && (a == nil || a.current != nil) && (b == nil || b.current != nil) {
				e.current.used = true
				r.expect(m.Thread, func() { e.creates++; e.removes++ }, func() { e.creates, e.removes = 0, 0 })
			}
		}
	case mutation.Link:
		source := r.touch(m.Path)
		if source != nil && source.current != nil {
			source.current.last, source.current.used = 0, true
		}
		if e := r.touch(m.To); e != nil && e.current == nil && (source == nil || source.current != nil) {
			r.expect(m.Thread, func() { e.creates++ }, func() { e.creates = 0 })
		}
	}
	r.flush()
	return nil
}

// expect notes that a thread's call may have an effect: one that is bound to fail is not expected to. What is left of it when the thread makes its next call did not
// take place.
func (r *Recorder) expect(thread int, note, forget func()) {
	note()
	if r.observer == nil {
		return
	}
	c := r.calls[thread]
	before := c.forget
	c.at, c.forget = time.Now(), func() {
		if before != nil {
			before()
		}
		forget()
	}
	r.calls[thread] = c
}

func (r *Recorder) noticeWrite(m mutation.Mutation) {
	e := r.touch(m.Path)
	if e == nil {
		return
	}
	if e.current != nil {
		r.keepContents(e, e.current)
		e.current.opens++
		e.current.used, e.current.Written = true, true
		if m.Thread != 0 {
			return
		}
	}
	// A tool puts a new file into the place of the old one.
	r.expect(m.Thread, func() { e.creates++; e.opens++ }, func() { e.creates, e.opens = 0, 0 })
}

func (r *Recorder) noticeRemove(m mutation.Mutation) {
	e := r.touch(m.Path)
	if e == nil || e.current == nil {
		return // it will fail
	}
	r.keepDoomed(e)
	r.dirs.dropTree(m.Path)
	r.expect(m.Thread, func() { e.removes++ }, func() { e.removes = 0 })
}

// keepDoomed keeps what may have its last name taken away.
func (r *Recorder) keepDoomed(e *entry) {
	for _, c := range r.calls { // another thread may put something there in the same moment, which would be lost
		if c.to == e && c.object.isRegular() && c.object != e.current {
			r.keepContents(c.from, c.object)
		}
	}
	o := e.current
	if o == nil {
		return
	}
	o.used = true
	o.last = 0 // its change time changes with the number of its names, of which no event tells
	if !o.isDir() {
		r.keepContents(e, o)
	}
}

func (r *Recorder) noticeRename(m mutation.Mutation) {
	if paths.Within(m.Path, m.To) {
		return // it will fail, or change nothing
	}
	from, to := r.touch(m.Path), r.touch(m.To)
	if from != nil && (from.current == nil || to != nil && to.current != nil && to.current.isDir() != from.current.isDir()) {
		return // it will fail
	}
	if to != nil && (from == nil || to.current != from.current) {
		r.keepDoomed(to)
	}
	if from != nil && to == nil { // out of what the policy opens
		if r.keepDoomed(from); from.current.isDir() && sameDevice(m.To, from.current) {
			r.lose(m.Path + " (a directory that was moved out of the workspace)")
		}
	}
	if from != nil && to != nil && r.tool && !sameDevice(m.To, from.current) { // it is copied and deleted
		r.keepTree(m.Path)
		to.whole = true
	}
	if from != nil {
		from.current.used = true
	}
	r.noteMove(from)
	r.dirs.dropTree(m.Path)
	r.dirs.dropTree(m.To)
	if from == nil && to != nil {
		to.whole = true // it comes with all that is in it
	}
	if from != nil && from.current.isRegular() && from.current.Links == 1 && len(r.calls) > 0 {
		r.keepIfContended(from)
	}
	if from != nil {
		r.expect(m.Thread, func() { from.removes++ }, func() { from.removes = 0 })
	}
	if to != nil {
		r.expect(m.Thread, func() { to.creates++ }, func() { to.creates = 0 })
	}
	if c, ok := r.calls[m.Thread]; ok && from != nil && to != nil {
		c.from, c.to, c.object = from, to, from.current
		r.calls[m.Thread] = c
	}
}

// keepIfContended keeps a file that is moved to a name, or from one, that another thread changes in the same moment.
func (r *Recorder) keepIfContended(e *entry) {
	for _, c := range r.calls {
		if c.from == e || c.to == e {
			r.keepContents(e, e.current)
			return
		}
	}
}

// noteMove notes when a directory is moved: a later change in it is moved back with it, and may be somebody else's.
func (r *Recorder) noteMove(e *entry) {
	if e == nil || e.current == nil || !e.current.isDir() || e.current.Created || e.current.Moved != 0 {
		return
	}
	now := time.Now().UnixNano()
	for fileTime() <= now { // a few milliseconds at most: from then on each change shows in its time
		time.Sleep(time.Millisecond)
	}
	e.current.Moved = now
}

// sameDevice reports whether an object could be renamed to a path at once; to another device it is copied and deleted.
func sameDevice(to string, o *object) bool {
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	n, err := statFile(dir)
	return err == nil && n.Device == o.device
}

// touch returns the entry of a path, with the object that has the name now as its current one. The first time it notes
// what is there. It is nil where the policy opens nothing.
func (r *Recorder) touch(path string) *entry {
	if path == "" {
		return nil
	}
	if len(path) > maxPath {
		r.loseKind(path, "paths of more than 4000 bytes")
		return nil
	}
	dir := r.open(filepath.Dir(path))
	if dir == nil {
		if top := r.open(path); top != nil { // a directory that the policy opens as a whole
			return r.top(top)
		}
		return r.touchClosed(path)
	}
	dir.object.Touched = true
	name := filepath.Base(path)
	n, err := dir.stat(name)
	if err != nil {
		r.loseKind(path, "paths that can't be looked at")
		return nil
	}
	key := entryKey{dir.object, name}
	e := r.byName[key]
	if e == nil {
		e = &entry{Dir: dir.object.index, Name: rawText(name), Before: none, After: none}
		if n != nil {
			e.current = r.objectAt(dir, name, n, false)
			e.Before = e.current.index
			r.checkChanged(e, n)
			if o := e.current; o.Created && r.observer != nil { // somebody else moved it there
				o.Created = false
				r.describe(o, dir, name)
			}
		}
		r.byName[key] = e
		r.addEntry(e)
		return e
	}
	e.current = nil
	if n != nil {
		e.current = r.objectAt(dir, name, n, true)
		r.checkChanged(e, n)
	}
	return e
}

// checkChanged notes if a file was changed of which no event told: somebody else used another of its names.
func (r *Recorder) checkChanged(e *entry, n *node) {
	if o := e.current; o.last != 0 && o.last != n.Changed && o.opens == 0 && e.attrs == 0 && !o.isDir() {
		o.setForeign()
	}
}

// top returns the entry of a directory whose parent is closed: only its metadata can change.
func (r *Recorder) top(dir *openDir) *entry {
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
	if e.Dir == none || !r.record.Objects[e.Dir].Created { // what is in a new directory is found at its end
		r.note(journalLine{Entry: e})
	}
}

// objectAt returns the object that has a name. Where the name was met before and the object was not, the operation
// created it.
func (r *Recorder) objectAt(dir *openDir, name string, n *node, known bool) *object {
	if o := r.byID[n.ID]; o != nil && n.ID != "" {
		return o
	}
	o := newObject(n)
	o.device = n.Device
	o.Created = known || dir.object.whole
	if n.Mode.IsDir() {
		o.Parent, o.Name = dir.object.index, rawText(name)
	}
	if !o.Created {
		r.describe(o, dir, name)
	}
	r.add(o)
	return o
}

// describe notes what an object is besides its contents.
func (r *Recorder) describe(o *object, dir *openDir, name string) {
	if o.Mode&fs.ModeSymlink == 0 {
		o.Attributes = dir.attributes(name)
	} else if target, err := dir.readlink(name); err == nil {
		o.Target = rawText(target)
	}
}

func (r *Recorder) add(o *object) {
	o.index = len(r.record.Objects)
	r.record.Objects = append(r.record.Objects, o)
	if o.ID != "" {
		r.byID[o.ID] = o
	}
	if !o.Created {
		r.note(journalLine{Object: o, Index: o.index})
	}
}

// open opens a directory, and notes what it is the first time; nil where the policy does not open it.
func (r *Recorder) open(path string) *openDir {
	d := r.dirs.open(path)
	if d == nil || d.object != nil {
		return d
	}
	n, err := statFile(d.file)
	if err != nil {
		r.dirs.drop(path)
		return nil
	}
	if d.object = r.byID[n.ID]; d.object == nil {
		o := newObject(n)
		o.device, o.Name = n.Device, rawText(path)
		if parent := r.parent(path); parent != nil {
			name := filepath.Base(path)
			o.Parent, o.Name = parent.object.index, rawText(name)
			e := r.byName[entryKey{parent.object, name}]
			o.whole = parent.object.whole || e != nil && e.whole
			o.Created = e != nil || o.whole
		}
		if !o.Created {
			o.Attributes = d.attributes(".")
		}
		r.add(o)
		d.object = o
	}
	r.observer.watch(d.object, d.file)
	return d
}

// parent opens the directory that contains another; nil for one that the policy opens as a whole.
func (r *Recorder) parent(path string) *openDir {
	if path == r.files.Dir() || path == filepath.Dir(path) {
		return nil
	}
	return r.open(filepath.Dir(path))
}

// keepContents keeps the contents of a regular file, once.
func (r *Recorder) keepContents(e *entry, o *object) {
	if !o.isRegular() || o.Created || o.tried || r.broken != nil {
		if o.isUnmakeable() && !o.Created && !o.tried {
			o.tried = true
			kind := "a device"
			if o.Mode&fs.ModeSocket != 0 {
				kind = "a socket"
			}
			r.lose(quoted(r.path(e)) + " (" + kind + ")")
		}
		return
	}
	o.tried = true
	file, err := r.openEntry(e, o)
	for _, c := range r.calls {
		if err != nil && c.object == o { // another thread renames it in the same moment
			file, err = r.openEntry(c.to, o)
		}
	}
	if err == nil {
		if left := r.left(); o.Size > left {
			err = fmt.Errorf("%s, more than is kept of one operation", sizeText(o.Size))
		} else {
			r.begin()
			if r.broken == nil {
				o.Content, err = r.out.keep(baseName(string(e.Name)), o.Size, file)
			}
		}
		_ = file.Close()
	}
	if err != nil {
		r.lose(fmt.Sprintf("%s (%v)", quoted(r.path(e)), reason(err)))
		return
	}
	if o.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		r.loseKind(r.path(e), "the setuid and setgid bits of files")
	}
	if o.UID == nobody || o.GID == nobody {
		r.loseKind(r.path(e), "owners of files other than picoclaw's")
	}
	r.note(journalLine{Object: o, Index: o.index})
}

// openEntry opens the file at a name, if it is the object that is meant.
func (r *Recorder) openEntry(e *entry, o *object) (*os.File, error) {
	if e.Dir == none {
		return r.openClosed(string(e.Name))
	}
	for _, d := range r.dirs.all {
		if d.object == nil || d.object.index != e.Dir {
			continue
		}
		f, err := d.open(string(e.Name))
		if err != nil {
			return nil, err
		}
		n, err := statFile(f)
		if err == nil && n.ID != o.ID {
			err = fs.ErrNotExist
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		o.Size = n.Size
		return f, nil
	}
	return nil, fs.ErrNotExist
}

// begin makes the archive, with what is known so far.
func (r *Recorder) begin() {
	if r.out != nil || r.broken != nil {
		return
	}
	r.record.ID, r.record.Time = r.store.newID(), time.Now().UTC().Truncate(time.Millisecond)
	r.out, r.broken = r.store.createArchive(&r.record.Operation)
	r.flushJournal()
}

// note adds a line to the journal, from which an operation is known whose process is killed.
func (r *Recorder) note(line journalLine) {
	data, err := json.Marshal(line)
	if err != nil {
		r.broken = err
		return
	}
	r.journal.Write(append(data, '\n'))
}

// flush writes the journal before the change that was announced takes place.
func (r *Recorder) flush() {
	if r.journal.Len() == 0 {
		return
	}
	r.begin()
	r.flushJournal()
}

func (r *Recorder) flushJournal() {
	if r.broken == nil && r.journal.Len() > 0 {
		if r.out.size() > r.store.MaxOperation() {
			r.broken = fmt.Errorf("it changed more than %s can tell of", sizeText(r.store.MaxOperation()))
		} else if err := r.out.member(journalMember, r.journal.Bytes()); err != nil {
			r.broken = err
		} else {
			r.broken = r.out.flush()
		}
	}
	r.journal.Reset()
}

// left returns how many bytes may still be kept.
func (r *Recorder) left() int64 {
	if r.out == nil {
		return r.store.MaxOperation()
	}
	return r.store.MaxOperation() - r.out.size()
}

// loseKind names one of many paths that share a reason.
func (r *Recorder) loseKind(path, kind string) {
	what := fmt.Sprintf("%s… (%s)", quoted(fmt.Sprintf("%.100s", path)), kind)
	for _, lost := range r.record.Lost {
		if len(lost) > len(kind) && lost[len(lost)-len(kind)-1:len(lost)-1] == kind {
			return
		}
	}
	r.lose(what)
}

// lose notes what undo does not restore.
func (r *Recorder) lose(what string) {
	switch {
	case slices.Contains(r.record.Lost, what):
	case len(r.record.Lost) < maxLost:
		r.record.Lost = append(r.record.Lost, what)
	case len(r.record.Lost) == maxLost:
		r.record.Lost = append(r.record.Lost, "and more")
	}
}

// path returns the path of an entry as it was when the operation met it.
func (r *Recorder) path(e *entry) string { return r.record.path(e, (*record).metPath) }

// baseName is a name that a member of an archive may have.
func baseName(name string) string {
	name = filepath.Base(name)
	if len(name) > 60 {
		name = name[:60]
	}
	return name
}

// quoted is a path that may stand in a line of output.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }) {
		return strconv.Quote(path)
	}
	return path
}

// reason is an error without the path that it is named with anyway.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// sizeText is a number of bytes for a message.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
