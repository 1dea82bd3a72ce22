package undo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// call is a system call that a thread was about to make, with the effects that were not seen yet.
type call struct {
	at      time.Time
	effects []effect
	kind    mutation.Kind
	from    *entry
	to      *entry
	object  *object // the object that a rename moves, or that was opened
}

// effect is what a call does to a name.
type effect struct {
	entry *entry
	kind  eventKind
}

// tickInterval is how often changes are looked at beside the calls of the operation: the kernel makes one event of
// several that are the same, if nobody has read the first.
const tickInterval = 50 * time.Millisecond

// maxCall is how long a call may take that was let through, on a machine with much to do.
const maxCall = 2 * time.Second

func (r *Recorder) observeEachTick() {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-r.ticks:
			return
		case <-ticker.C:
			r.mu.Lock()
			if !r.ended {
				r.observeEvents()
				r.expireCalls(time.Now().Add(-maxCall))
			}
			r.mu.Unlock()
		}
	}
}

// expireCalls forgets calls that were made long ago and had no effect: they failed.
func (r *Recorder) expireCalls(before time.Time) {
	for thread, c := range r.calls {
		if c.at.Before(before) {
			r.endCall(thread)
		}
	}
}

// expectEffects notes the effects that a thread's call may have. Effects that are left when the thread makes its next call did
// not take place.
func (r *Recorder) expectEffects(thread int, c *call) {
	if r.observer == nil {
		return
	}
	c.at = time.Now()
	r.calls[thread] = c
	for _, ef := range c.effects {
		ef.entry.pending = append(ef.entry.pending, c)
	}
}

// endCall forgets the last call of a thread.
func (r *Recorder) endCall(thread int) {
	c := r.calls[thread]
	if c == nil {
		return
	}
	delete(r.calls, thread)
	for len(c.effects) > 0 {
		ef := c.effects[0]
		c.dropEffect(0)
		if ef.kind == attributed { // the kernel tells of no event where a time alone is set
			r.adoptCurrent(ef.entry)
		}
	}
	if c.kind == mutation.Write {
		r.forgetOpen(c.to, c.object)
	}
}

// dropEffect removes one of the effects that are expected of a call.
func (c *call) dropEffect(at int) {
	e := c.effects[at].entry
	c.effects = slices.Delete(c.effects, at, at+1)
	if !slices.ContainsFunc(c.effects, func(ef effect) bool { return ef.entry == e }) {
		e.pending = slices.DeleteFunc(e.pending, func(other *call) bool { return other == c })
	}
}

// takeEffect returns the calls that may explain an event at a name. The effect of a single one is not expected any more;
// which of several had it is not known, so these are expected to have it until they end.
func (e *entry) takeEffect(kind eventKind) []*call {
	var all []*call
	for _, c := range e.pending {
		if slices.Contains(c.effects, effect{e, kind}) {
			all = append(all, c)
		}
	}
	if len(all) == 1 {
		all[0].dropEffect(slices.Index(all[0].effects, effect{e, kind}))
	}
	return all
}

// expectsEffect reports whether a call is expected to have an effect on a name.
func (e *entry) expectsEffect(kind eventKind) bool {
	return slices.ContainsFunc(e.pending, func(c *call) bool { return slices.Contains(c.effects, effect{e, kind}) })
}

// isFree reports whether a name has nothing, and no other thread is about to put something there.
func (e *entry) isFree() bool { return e.current == nil && len(e.pending) == 0 }

// Notice keeps what a change is about to destroy. It never refuses a change: what can't be kept is named by
// [Recorder.End].
func (r *Recorder) Notice(m mutation.Mutation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.observeEvents()
	r.endCall(m.Thread)
	switch m.Kind {
	case mutation.Unseen:
		r.noteLost(fmt.Sprintf("changes that could not be noticed: %v", m.Err))
	case mutation.Write:
		r.noticeWrite(m)
	case mutation.Make:
		r.noticeNew(m.Thread, m.Path)
	case mutation.Attribute:
		if e := r.touchPath(m.Path); e != nil && e.current != nil {
			r.keepAttributes(e)
			e.current.Attributed, e.current.used = true, true
			r.expectEffects(m.Thread, &call{kind: m.Kind, effects: []effect{{e, attributed}}})
		}
	case mutation.Remove:
		r.noticeRemove(m)
	case mutation.Rename:
		r.noticeRename(m)
	case mutation.Exchange:
		r.noticeExchange(m)
	case mutation.Link:
		source := r.touchPath(m.Path)
		if source != nil && source.current != nil {
			source.current.last, source.current.used = 0, true
		}
		if source == nil || !source.isFree() {
			r.noticeNew(m.Thread, m.To)
		}
	}
	r.flushNotes()
	return nil
}

// noticeNew expects a name for something new. If the name has something already, the call fails.
func (r *Recorder) noticeNew(thread int, path string) {
	if e := r.touchPath(path); e != nil && (e.current == nil || len(e.pending) > 0) {
		r.expectEffects(thread, &call{kind: mutation.Make, effects: []effect{{e, appeared}}})
	}
}

func (r *Recorder) noticeWrite(m mutation.Mutation) {
	e := r.touchPath(m.Path)
	if e == nil {
		return
	}
	c := &call{kind: m.Kind, to: e}
	o := e.current
	if o != nil {
		r.keepContents(e, o)
	} else if o = r.keepArriving(e); o != nil {
		r.noteObject(o)
	}
	if o != nil {
		o.used, o.Written = true, true
		c.countOpen(o)
	}
	if e.current == nil || len(e.pending) > 0 {
		c.effects = []effect{{e, appeared}}
	}
	r.expectEffects(m.Thread, c)
}

// forgetOpen notes that a call has left no file open for writing, so that the next to close it is somebody else: it
// failed, or it set the length alone, of which no event tells.
func (r *Recorder) forgetOpen(e *entry, o *object) {
	if o == nil || o.opens == 0 || e.current != o || r.isOpen(e) {
		return
	}
	r.observeEvents() // it may have been closed just now
	if o.opens > 0 {
		o.opens, e.opens = o.opens-1, max(e.opens-1, 0)
		r.adoptCurrent(e)
	}
}

// countOpen counts a descriptor for writing that a call opened.
func (c *call) countOpen(o *object) {
	c.object = o
	o.opens++
	c.to.opens++
}

// moveOpens has the descriptors of a file at its new name: the kernel tells of them by that.
func (c *call) moveOpens() {
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

func (r *Recorder) noticeRemove(m mutation.Mutation) {
	e := r.touchPath(m.Path)
	if e == nil || e.isFree() {
		return // it will fail
	}
	r.keepDoomed(e)
	r.dirs.dropTree(m.Path)
	r.expectEffects(m.Thread, &call{kind: m.Kind, effects: []effect{{e, disappeared}}})
}

// keepArriving keeps a file that another thread may move to a name in the same moment, and returns it; nil for none.
func (r *Recorder) keepArriving(e *entry) (o *object) {
	for _, c := range r.calls {
		if c.from == nil || c.kind != mutation.Rename || c.to != e || !c.object.isRegular() || c.object == e.current {
			continue
		}
		o = c.object
		for _, at := range []*entry{c.from, c.to} {
			if f, err := r.openEntry(at, o); err == nil {
				_ = f.Close()
				r.keepContents(at, o)
			}
		}
	}
	return o
}

// keepDoomed keeps what may have its last name taken away.
func (r *Recorder) keepDoomed(e *entry) {
	r.keepArriving(e)
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
	from, to := r.touchPath(m.Path), r.touchPath(m.To)
	var moved *object
	if from != nil {
		if moved = from.current; from.isFree() || len(from.pending) == 0 && to != nil && to.current != nil && to.current.isDir() != moved.isDir() {
			return // it will fail
		}
	}
	if to != nil && (from == nil || to.current != moved) {
		r.keepDoomed(to)
	}
	if moved != nil {
		moved.used = true
		if to == nil { // out of what the policy opens
			if r.keepDoomed(from); moved.isDir() && sameMount(m.To, moved) {
				r.noteLost(hiddentext.QuoteName(m.Path) + " (a directory that was moved out of the workspace)")
			}
		} else if r.tool && !sameMount(m.To, moved) { // it is copied and deleted
			r.keepTree(m.Path)
			to.whole = true
		}
		r.noteMove(moved)
		if moved.isRegular() && moved.Links == 1 {
			r.keepIfContended(from)
		}
	}
	r.dirs.dropTree(m.Path)
	r.dirs.dropTree(m.To)
	c := &call{kind: m.Kind}
	if from != nil {
		c.effects = append(c.effects, effect{from, disappeared})
	}
	if to != nil {
		to.whole = to.whole || from == nil // it comes with all that is in it
		c.effects = append(c.effects, effect{to, appeared})
	}
	if moved != nil && to != nil {
		c.from, c.to, c.object = from, to, moved
	}
	r.expectEffects(m.Thread, c)
}

func (r *Recorder) noticeExchange(m mutation.Mutation) {
	a, b := r.touchPath(m.Path), r.touchPath(m.To)
	if a != nil && a.isFree() || b != nil && b.isFree() {
		return // it will fail
	}
	c := &call{kind: m.Kind, from: a, to: b}
	if a == nil || b == nil {
		c.from = nil
	}
	for _, e := range []*entry{a, b} {
		if e == nil {
			continue
		}
		if e.current != nil {
			e.current.used = true
			r.noteMove(e.current)
		}
		c.effects = append(c.effects, effect{e, appeared}, effect{e, disappeared})
	}
	r.dirs.dropTree(m.Path)
	r.dirs.dropTree(m.To)
	r.expectEffects(m.Thread, c)
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
func (r *Recorder) noteMove(o *object) {
	if !o.isDir() || o.Created || o.Moved != 0 {
		return
	}
	now := time.Now().UnixNano()
	for fileTime() <= now { // a few milliseconds at most: from then on each change shows in its time
		time.Sleep(time.Millisecond)
	}
	o.Moved = now
}

// sameMount reports whether an object could be renamed to a path at once; to another mount it is copied and deleted.
func sameMount(to string, o *object) bool {
	dir, err := os.Open(filepath.Dir(to) + string(filepath.Separator)) // a FIFO there does not block
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	n, err := statFile(dir)
	return err == nil && n.Mount == o.mount
}
