package undo

import (
	"fmt"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// pendingSyscall is an announced system call of one thread, with its effects that are not yet observed.
type pendingSyscall struct {
	at       time.Time
	effects  []expectedEntryEvent
	kind     mutation.Kind
	from     *entryChange
	to       *entryChange
	object   *fileObject // the object that a rename moves or that the call opened
	nameless bool        // it links a file without a name, which a descriptor may still change
	marked   []fileMarks // objects that the announcement marked as changed
	failed   bool
}

// fileMarks are the marks of an object before an announcement.
type fileMarks struct {
	object                    *fileObject
	used, written, attributed bool
}

// markChanged marks an object as changed by a call, unless the call fails.
func (c *pendingSyscall) markChanged(o *fileObject, written, attributed bool) {
	c.marked = append(c.marked, fileMarks{o, o.used, o.Written, o.Attributed})
	o.used, o.Written, o.Attributed = true, o.Written || written, o.Attributed || attributed
}

// expectedEntryEvent is an expected event at a name.
type expectedEntryEvent struct {
	entry *entryChange
	kind  eventKind
}

// tickInterval is the pause between two reads of file events. Frequent reads matter because the kernel merges equal
// unread events.
const tickInterval = 50 * time.Millisecond

// maxCall is the maximum time that an allowed system call takes on a busy machine.
const maxCall = 2 * time.Second

func (r *Recorder) pollEvents(done <-chan struct{}) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			r.mu.Lock()
			if !r.ended {
				r.processEvents()
				r.expireCalls(time.Now().Add(-maxCall))
			}
			r.mu.Unlock()
		}
	}
}

// expireCalls forgets calls that were announced before a time and had no effect, so they failed.
func (r *Recorder) expireCalls(before time.Time) {
	for thread, c := range r.calls {
		if c.at.Before(before) {
			r.forgetCall(thread)
		}
	}
}

// expectEffects notes the effects that a thread's announced call may have. An effect that is not observed before the
// thread's next call did not happen.
func (r *Recorder) expectEffects(thread int, c *pendingSyscall) {
	if r.observer == nil {
		return
	}
	c.at = time.Now()
	r.calls[thread] = c
	for _, ef := range c.effects {
		ef.entry.pending = append(ef.entry.pending, c)
	}
}

// forgetCall forgets the last call of a thread and its expected effects.
func (r *Recorder) forgetCall(thread int) {
	c := r.calls[thread]
	if c == nil {
		return
	}
	delete(r.calls, thread)
	for len(c.effects) > 0 {
		ef := c.effects[0]
		c.dropEffect(0)
		if ef.kind == attributed { // the kernel tells of no event where a time alone is set
			r.adoptCurrentObject(ef.entry)
		}
	}
	if c.kind == mutation.Write {
		r.uncountFailedOpen(c.to, c.object, c.failed)
	}
}

// failCall forgets the last call of a thread, which failed.
func (r *Recorder) failCall(thread int) {
	c := r.calls[thread]
	if c == nil {
		return
	}
	for len(c.effects) > 0 {
		c.dropEffect(0)
	}
	for _, m := range c.marked {
		m.object.used, m.object.Written, m.object.Attributed = m.used, m.written, m.attributed
	}
	c.failed = true
	r.forgetCall(thread)
}

func (c *pendingSyscall) dropEffect(at int) {
	e := c.effects[at].entry
	c.effects = slices.Delete(c.effects, at, at+1)
	if !slices.ContainsFunc(c.effects, func(ef expectedEntryEvent) bool { return ef.entry == e }) {
		e.pending = slices.DeleteFunc(e.pending, func(other *pendingSyscall) bool { return other == c })
	}
}

// takeMatchingCalls returns the calls that may have caused an event at a name. If only one call matches, it no longer
// expects the effect. If several match, all keep expecting it until they end.
func (e *entryChange) takeMatchingCalls(kind eventKind) []*pendingSyscall {
	var all []*pendingSyscall
	for _, c := range e.pending {
		if slices.Contains(c.effects, expectedEntryEvent{e, kind}) {
			all = append(all, c)
		}
	}
	if len(all) == 1 {
		all[0].dropEffect(slices.Index(all[0].effects, expectedEntryEvent{e, kind}))
	}
	return all
}

// expectsEffect reports whether a pending call may cause an event of a kind at the name.
func (e *entryChange) expectsEffect(kind eventKind) bool {
	return slices.ContainsFunc(e.pending, func(c *pendingSyscall) bool { return slices.Contains(c.effects, expectedEntryEvent{e, kind}) })
}

// isNameFree reports whether the name has no object and no pending call of another thread.
func (e *entryChange) isNameFree() bool { return e.current == nil && len(e.pending) == 0 }

// BeforeChange keeps the file contents and metadata that a change is about to destroy. Call it before each change. It
// never refuses a change. [Recorder.End] lists losses.
func (r *Recorder) BeforeChange(m mutation.FileMutation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.processEvents()
	if m.Kind == mutation.Failed {
		r.failCall(m.Thread)
		return nil
	}
	r.forgetCall(m.Thread)
	switch m.Kind {
	case mutation.Unseen:
		r.noteLostChange(fmt.Sprintf("changes that could not be noticed: %v", m.Err))
	case mutation.Write:
		r.beforeWrite(m)
	case mutation.Make:
		r.beforeCreate(m.Thread, m.Path, false)
	case mutation.Attribute:
		r.beforeAttribute(m)
	case mutation.Remove:
		r.beforeRemove(m)
	case mutation.Rename:
		r.beforeRename(m)
	case mutation.Exchange:
		r.beforeExchange(m)
	case mutation.Link:
		source := r.findOrAddPathEntry(m.Path)
		if source != nil && source.current != nil {
			source.current.last, source.current.used = 0, true
		}
		if source == nil || !source.isNameFree() {
			r.beforeCreate(m.Thread, m.To, source == nil)
		}
	}
	r.flushJournal()
	return nil
}

// beforeCreate expects a new object at a name. It expects nothing at a name that exists, because the call fails there.
func (r *Recorder) beforeCreate(thread int, path string, nameless bool) {
	if e := r.findOrAddPathEntry(path); e != nil && (e.current == nil || len(e.pending) > 0) {
		r.expectEffects(thread, &pendingSyscall{kind: mutation.Make, nameless: nameless, effects: []expectedEntryEvent{{e, appeared}}})
	}
}

// beforeAttribute also keeps the attributes of a file that another thread may be renaming to the name. It expects the
// effect at a missing name too, because another thread may be creating the file.
func (r *Recorder) beforeAttribute(m mutation.FileMutation) {
	e := r.findOrAddPathEntry(m.Path)
	if e == nil {
		return
	}
	at := []*entryChange{e}
	for _, c := range e.pending {
		if c.kind == mutation.Rename && c.to == e && c.from != nil {
			at = append(at, c.from)
		}
	}
	call := &pendingSyscall{kind: m.Kind, effects: []expectedEntryEvent{{e, attributed}}}
	for _, one := range at {
		if one.current != nil {
			r.keepAttributes(one)
			call.markChanged(one.current, false, true)
		}
	}
	r.expectEffects(m.Thread, call)
}

func (r *Recorder) beforeWrite(m mutation.FileMutation) {
	e := r.findOrAddPathEntry(m.Path)
	if e == nil {
		return
	}
	c := &pendingSyscall{kind: m.Kind, to: e}
	o := e.current
	if o != nil {
		r.keepContents(e, o)
	} else if o = r.keepIncomingFile(e); o != nil {
		r.addObjectToJournal(o)
	}
	if o != nil {
		c.markChanged(o, true, false)
		c.countWriter(o)
	}
	if e.current == nil || len(e.pending) > 0 {
		c.effects = []expectedEntryEvent{{e, appeared}}
	}
	r.expectEffects(m.Thread, c)
}

// uncountFailedOpen uncounts the descriptor of a call that left no file open for writing. Otherwise a later close by
// another program would be attributed to the operation.
func (r *Recorder) uncountFailedOpen(e *entryChange, o *fileObject, failed bool) {
	if o == nil || o.opens == 0 {
		return
	}
	if e.current != o { // another thread renamed it
		i := slices.IndexFunc(r.record.Entries, func(at *entryChange) bool { return at.current == o && at.opens > 0 })
		if i < 0 {
			return
		}
		e = r.record.Entries[i]
	}
	if !failed && r.isOpenForWriting(e) {
		return
	}
	r.processEvents() // it may have been closed just now
	if o.opens > 0 {
		o.opens, e.opens = o.opens-1, max(e.opens-1, 0)
		r.adoptCurrentObject(e)
	}
}

func (c *pendingSyscall) countWriter(o *fileObject) {
	c.object = o
	o.opens++
	c.to.opens++
}

// moveOpenCounts moves the count of open descriptors to the new name of a renamed file, because the kernel reports
// their events under that name.
func (c *pendingSyscall) moveOpenCounts() {
	if c.from == nil {
		return
	}
	opens := 0
	if c.kind == mutation.Exchange {
		opens = c.to.opens
	}
	c.from.opens, c.to.opens = opens, c.from.opens
	c.from = nil
}

func (r *Recorder) beforeRemove(m mutation.FileMutation) {
	e := r.findOrAddPathEntry(m.Path)
	if e == nil || e.isNameFree() {
		return // it will fail
	}
	r.keepBeforeRemoval(e)
	r.dirs.closeTree(m.Path)
	r.expectEffects(m.Thread, &pendingSyscall{kind: m.Kind, effects: []expectedEntryEvent{{e, disappeared}}})
}

// keepIncomingFile keeps a file that another thread may be renaming to a name at the same moment. It returns the file,
// or nil for none.
func (r *Recorder) keepIncomingFile(e *entryChange) (o *fileObject) {
	for _, c := range r.calls {
		if c.from == nil || c.kind != mutation.Rename || c.to != e || !c.object.isRegular() || c.object == e.current {
			continue
		}
		o = c.object
		for _, at := range []*entryChange{c.from, c.to} {
			if f, err := r.openEntryFile(at, o); err == nil {
				_ = f.Close()
				r.keepContents(at, o)
			}
		}
	}
	return o
}

// keepBeforeRemoval keeps the object at a name that is about to be deleted or replaced.
func (r *Recorder) keepBeforeRemoval(e *entryChange) {
	r.keepIncomingFile(e)
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
