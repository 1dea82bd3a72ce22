package undo

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// call is one that a thread was about to make. forget takes back what was expected of it.
type call struct {
	at     time.Time
	forget func()
	from   *entry // of a rename
	to     *entry
	object *object // what it moves
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
			r.keepAttributes(e)
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

// expect notes that a thread's call may have an effect: one that is bound to fail is not expected to. Effects that are
// left when the thread makes its next call did not take place.
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
		o := e.current
		o.opens++
		o.used, o.Written = true, true
		if m.Thread != 0 {
			r.expect(m.Thread, func() {}, func() { r.forgetOpen(e, o) })
			return
		}
	}
	// A tool puts a new file into the place of the old one.
	r.expect(m.Thread, func() { e.creates++; e.opens++ }, func() { e.creates, e.opens = 0, 0 })
}

// forgetOpen notes that a call has left no file open for writing, so that the next to close it is somebody else: it
// failed, or it set the length alone, of which no event tells.
func (r *Recorder) forgetOpen(e *entry, o *object) {
	if o.opens == 0 || e.current != o || r.isOpen(e) {
		return
	}
	r.observe() // it may have been closed just now
	if o.opens > 0 {
		o.opens--
		r.adopt(e)
	}
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
			for _, at := range []*entry{c.from, c.to} {
				if f, err := r.openEntry(at, c.object); err == nil {
					_ = f.Close()
					r.keepContents(at, c.object)
				}
			}
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
	for thread, c := range r.calls {
		same := c.to != nil && (c.to == to || c.to == from || c.from == to || c.from == from)
		if !same || thread == m.Thread || c.to.creates == 0 && (c.from == nil || c.from.removes == 0) { // it was seen to end
			continue
		}
		r.noteContention(c.from, c.to, from, to)
	}
	if from != nil && from.contended || to != nil && to.contended {
		r.noteContention(from, to)
	}
	if from != nil && (from.current == nil || to != nil && to.current != nil && to.current.isDir() != from.current.isDir()) {
		return // it will fail
	}
	if to != nil && (from == nil || to.current != from.current) {
		r.keepDoomed(to)
	}
	if from != nil && to == nil { // out of what the policy opens
		if r.keepDoomed(from); from.current.isDir() && sameMount(m.To, from.current) {
			r.lose(m.Path + " (a directory that was moved out of the workspace)")
		}
	}
	if from != nil && to != nil && r.tool && !sameMount(m.To, from.current) { // it is copied and deleted
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
		r.expect(m.Thread, func() { from.removes++ }, func() { r.forgetRename(m.Thread, from, &from.removes) })
	}
	if to != nil {
		r.expect(m.Thread, func() { to.creates++ }, func() { r.forgetRename(m.Thread, to, &to.creates) })
	}
	if c, ok := r.calls[m.Thread]; ok && from != nil && to != nil {
		c.from, c.to, c.object = from, to, from.current
		r.calls[m.Thread] = c
	}
}

// noteContention notes that several threads rename the same names at once: whose effects events tell of is not known.
func (r *Recorder) noteContention(names ...*entry) {
	for _, e := range names {
		if e != nil && !e.contended {
			e.contended, r.contention = true, true
			r.loseKind(r.path(e), "paths that several threads renamed at the same time")
		}
	}
}

// forgetRename expects no more effects of a thread's rename. They may be those of another thread's rename.
func (r *Recorder) forgetRename(thread int, e *entry, pending *int) {
	for other, c := range r.calls {
		if *pending == 0 || other == thread || c.from == nil || c.to == nil {
			continue
		}
		if c.from == e && c.to.creates > 0 || c.to == e && c.from.removes > 0 { // it was not seen to end
			r.noteContention(e, c.from, c.to)
		}
	}
	*pending = 0
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

// sameMount reports whether an object could be renamed to a path at once; to another mount it is copied and deleted.
func sameMount(to string, o *object) bool {
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	n, err := statFile(dir)
	return err == nil && n.Mount == o.mount
}
