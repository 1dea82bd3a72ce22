package undo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
)

func (r *Recorder) beforeRename(m mutation.FileMutation) {
	if paths.Within(m.Path, m.To) {
		return // it will fail, or change nothing
	}
	from, to := r.findOrAddPathEntry(m.Path), r.findOrAddPathEntry(m.To)
	var moved *fileObject
	if from != nil {
		if moved = from.current; from.isNameFree() || len(from.pending) == 0 && to != nil && to.current != nil && to.current.isDir() != moved.isDir() {
			if to != nil { // unless another thread creates the file to rename
				r.keepBeforeRemoval(to)
			}
			return // it will fail
		}
	}
	if to != nil && (from == nil || to.current != moved) {
		r.keepBeforeRemoval(to)
	}
	if moved != nil {
		moved.used = true
		if to == nil { // out of what the policy opens
			switch r.keepBeforeRemoval(from); {
			case moved.isDir() && isUnlistableDir(filepath.Dir(m.To)):
				r.noteLostChange(hiddentext.QuoteUnprintable(m.Path) + " (a directory that was moved into one that can't be read)")
			case moved.isDir() && isSameMount(m.To, moved):
				r.noteLostChange(hiddentext.QuoteUnprintable(m.Path) + " (a directory that was moved out of the workspace)")
			}
		} else if r.tool && !isSameMount(m.To, moved) { // it is copied and deleted
			r.keepTreeLocked(m.Path)
			to.whole = true
		}
		r.noteDirMoveTime(moved)
		if moved.isRegular() && moved.Links == 1 {
			r.keepIfContended(from)
		}
	}
	r.dirs.closeTree(m.Path)
	r.dirs.closeTree(m.To)
	c := &pendingSyscall{kind: m.Kind}
	if from != nil {
		c.effects = append(c.effects, expectedEntryEvent{from, disappeared})
	}
	if to != nil && !r.noteHiddenSource(from, m.Path, m.To) {
		to.whole = to.whole || from == nil // it comes with all that is in it
		c.effects = append(c.effects, expectedEntryEvent{to, appeared})
	}
	if moved != nil && to != nil {
		c.from, c.to, c.object = from, to, moved
	}
	r.expectEffects(m.Thread, c)
}

func (r *Recorder) beforeExchange(m mutation.FileMutation) {
	a, b := r.findOrAddPathEntry(m.Path), r.findOrAddPathEntry(m.To)
	if a != nil && a.isNameFree() || b != nil && b.isNameFree() {
		return // it will fail
	}
	c := &pendingSyscall{kind: m.Kind, from: a, to: b}
	if a == nil || b == nil {
		c.from = nil
	}
	isHidden := [2]bool{b != nil && r.noteHiddenSource(a, m.Path, m.To), a != nil && r.noteHiddenSource(b, m.To, m.Path)}
	for i, e := range []*entryChange{b, a} {
		if e == nil {
			continue
		}
		if isHidden[i] {
			r.keepBeforeRemoval(e)
			continue
		}
		if e.current != nil {
			e.current.used = true
			r.noteDirMoveTime(e.current)
		}
		c.effects = append(c.effects, expectedEntryEvent{e, appeared}, expectedEntryEvent{e, disappeared})
	}
	r.dirs.closeTree(m.Path)
	r.dirs.closeTree(m.To)
	r.expectEffects(m.Thread, c)
}

// noteHiddenSource reports whether a renamed file comes from a directory in which the recorder can't look. Then the file
// may have existed before the operation, and undo must not delete it: its new name counts as changed by others.
func (r *Recorder) noteHiddenSource(from *entryChange, path, to string) bool {
	if from != nil || !paths.Within(r.files.Dir(), path) && !isUnlistableDir(filepath.Dir(path)) {
		return false
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // otherwise the call fails
		r.noteLostChange(hiddentext.QuoteUnprintable(to) + " (moved from a directory in which picoclaw can't look)")
	}
	return true
}

// keepIfContended saves the contents of a file for undo if another thread is changing its name at the same moment.
func (r *Recorder) keepIfContended(e *entryChange) {
	for _, c := range r.calls {
		if c.from == e || c.to == e {
			r.keepContents(e, e.current)
			return
		}
	}
}

// noteDirMoveTime notes the time of a directory's first move. Changes in the directory after that time may be foreign.
func (r *Recorder) noteDirMoveTime(o *fileObject) {
	if !o.isDir() || o.Created || o.Moved != 0 {
		return
	}
	now := time.Now().UnixNano()
	for currentFileTime() <= now { // a few milliseconds at most: from then on each change shows in its time
		time.Sleep(time.Millisecond)
	}
	o.Moved = now
}

// isSameMount reports whether an object is on the same mount as a target path. A move to another mount is a copy and a
// delete.
func isSameMount(to string, o *fileObject) bool {
	dir, err := os.Open(filepath.Dir(to) + string(filepath.Separator)) // a FIFO there does not block
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	n, err := statOpenFile(dir)
	return err == nil && n.Mount == o.mount
}
