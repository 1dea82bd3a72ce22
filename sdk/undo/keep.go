package undo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// keepContents copies the contents of a regular file to the archive, at most once. It notes a loss if it can't.
func (r *Recorder) keepContents(e *entryChange, o *fileObject) {
	if !o.isRegular() || o.Created || o.tried || r.broken != nil {
		if o.isUnrestorable() && !o.Created && !o.tried {
			o.tried = true
			kind := "a device"
			if o.Mode&fs.ModeSocket != 0 {
				kind = "a socket"
			}
			r.noteLostChange(hiddentext.QuoteUnprintable(r.entryPath(e)) + " (" + kind + ")")
		}
		return
	}
	o.tried = true
	file, err := r.openEntryFile(e, o)
	for _, c := range r.calls {
		if err != nil && c.object == o { // another thread renames it in the same moment
			file, err = r.openEntryFile(c.to, o)
		}
	}
	if err == nil {
		if hasFileCapabilities(file) {
			r.noteLostExample(r.entryPath(e), "the capabilities of files")
		}
		if left := r.remainingBytes(); o.Size > left {
			err = fmt.Errorf("%s, more than one operation can save", formatSize(o.Size))
		} else {
			r.beginArchive()
			if r.broken == nil {
				if o.Attributes == nil {
					o.Attributes = readFileXattrs(file)
				}
				err = r.out.reserveSpace(o.Size, len(r.record.Objects)+len(r.record.Entries))
			}
			if r.broken == nil && err == nil {
				o.Content, err = r.out.writeContents(truncateBaseName(string(e.Name)), o.Size, file)
			}
		}
		_ = file.Close()
	}
	if err != nil {
		r.noteLostChange(fmt.Sprintf("%s (%v)", hiddentext.QuoteUnprintable(r.entryPath(e)), stripErrorPath(err)))
		return
	}
	if o.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		r.noteLostExample(r.entryPath(e), "the setuid and setgid bits of files")
	}
	if o.UID == nobody || o.GID == nobody {
		r.noteLostExample(r.entryPath(e), "owners of files other than picoclaw's")
	}
	r.addObjectToJournal(o)
}

// openEntryFile opens the file at a name for reading, and fails if the name has a different object.
func (r *Recorder) openEntryFile(e *entryChange, o *fileObject) (*os.File, error) {
	if e.Dir == none {
		return openSingleFile(r.files, string(e.Name))
	}
	for _, d := range r.dirs.all {
		if d.object == nil || d.object.index != e.Dir {
			continue
		}
		f, err := r.openOwnFile(d, string(e.Name), o)
		if err != nil {
			return nil, err
		}
		n, err := statOpenFile(f)
		if err == nil && n.ID != o.ID {
			err = fs.ErrNotExist
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		if o.Content == 0 { // otherwise the size of the kept contents
			o.Size = n.Size
		}
		return f, nil
	}
	return nil, fs.ErrNotExist
}

// openOwnFile opens a file for reading, also one of this user's own that its mode does not let it read.
func (r *Recorder) openOwnFile(d *cachedDir, name string, o *fileObject) (*os.File, error) {
	f, err := d.openChild(name)
	if errors.Is(err, fs.ErrPermission) {
		r.withOwnerRead(d, name, func() {
			if f, err = d.openChild(name); err == nil && o.Attributes == nil {
				o.Attributes = readFileXattrs(f)
			}
			o.used, o.last = true, 0 // it gets another change time
		})
	}
	return f, err
}

// withOwnerRead calls open while this user can read a file or directory of its own. The recorder ignores the events.
func (r *Recorder) withOwnerRead(d *cachedDir, name string, open func()) {
	if d.withOwnerRead(name, open) {
		r.reopened = append(r.reopened, string(d.object.ID)+"/"+name)
	}
}

// openUnreadableDir opens a directory in the workspace that can't be read, or that is below such a directory.
func (r *Recorder) openUnreadableDir(path string) *cachedDir {
	if !r.dirs.denied || !paths.Within(r.files.Dir(), path) {
		return nil
	}
	parent, name := r.openParent(path), filepath.Base(path)
	if parent == nil {
		return nil
	}
	d := r.recordDir(path, r.dirs.openDir(path))
	before, err := parent.statName(name)
	if d != nil || err != nil || before == nil || !before.Mode.IsDir() {
		return d
	}
	isKnown := r.byID[before.ID] != nil
	r.withOwnerRead(parent, name, func() { d = r.recordDir(path, r.dirs.openDir(path)) })
	if d != nil && !isKnown {
		d.object.Mode, d.object.known = before.Mode, before
	}
	return d
}

// beginArchive creates the archive and writes the journal so far.
func (r *Recorder) beginArchive() {
	if r.out != nil || r.broken != nil {
		return
	}
	r.record.ID, r.record.Time = r.store.newOperationID(), time.Now().UTC().Truncate(time.Millisecond)
	r.out, r.broken = r.store.createArchive(&r.record.Operation)
	r.writeJournal()
}

// addJournalLine adds a line to the journal buffer. Undo reads the journal if the process is killed before the
// operation ends.
func (r *Recorder) addJournalLine(line journalLine) {
	data, err := json.Marshal(line)
	if err != nil {
		r.broken = err
		return
	}
	r.journal.Write(append(data, '\n'))
}

// addObjectToJournal queues an object for the journal. The journal gets the object's state at the time of writing.
func (r *Recorder) addObjectToJournal(o *fileObject) {
	if !o.noted {
		o.noted = true
		r.objects = append(r.objects, o)
	}
}

// flushJournal writes pending journal lines to the archive, before the announced change happens.
func (r *Recorder) flushJournal() {
	if r.journal.Len()+len(r.objects) == 0 {
		return
	}
	r.beginArchive()
	r.writeJournal()
}

func (r *Recorder) writeJournal() {
	for _, o := range r.objects {
		r.addJournalLine(journalLine{Object: o, Index: o.index})
		o.noted = false
	}
	r.objects = r.objects[:0]
	if r.broken == nil && r.journal.Len() > 0 {
		if r.out.written > r.store.MaxOperationBytes() {
			r.broken = fmt.Errorf("it changed more than %s can tell of", formatSize(r.store.MaxOperationBytes()))
		} else if r.out.reserveSpace(int64(r.journal.Len()), len(r.record.Objects)+len(r.record.Entries)) != nil ||
			r.out.writeMember(journalMember, r.journal.Bytes()) != nil {
			return // the disk is full: the record has to do, unless the process is killed
		}
	}
	r.journal.Reset()
}

// remainingBytes returns the number of bytes that the operation may still keep.
func (r *Recorder) remainingBytes() int64 {
	if r.out == nil {
		return r.store.MaxOperationBytes()
	}
	return r.store.MaxOperationBytes() - r.out.written
}

// noteLostExample notes one example path for a reason that many paths share.
func (r *Recorder) noteLostExample(path, kind string) {
	what := fmt.Sprintf("%s… (%s)", hiddentext.QuoteUnprintable(fmt.Sprintf("%.100s", path)), kind)
	for _, lost := range r.record.Lost {
		if len(lost) > len(kind) && lost[len(lost)-len(kind)-1:len(lost)-1] == kind {
			return
		}
	}
	r.noteLostChange(what)
}

// moreLost stands for further changes in a list of lost ones.
const moreLost = "and more"

// noteLostChange notes a change that undo does not restore. Above maxLost changes, it only notes that there are more.
func (r *Recorder) noteLostChange(what string) {
	switch {
	case slices.Contains(r.record.Lost, what):
	case len(r.record.Lost) < maxLost:
		r.record.Lost = append(r.record.Lost, what)
	case len(r.record.Lost) == maxLost:
		r.record.Lost = append(r.record.Lost, moreLost)
	}
}

// entryPath returns the path of an entry when the operation first touched it.
func (r *Recorder) entryPath(e *entryChange) string {
	return r.record.entryPath(e, (*operationRecord).firstTouchedDirPath)
}

// truncateBaseName returns the last path element, cut to the length allowed in archive member names.
func truncateBaseName(name string) string {
	name = filepath.Base(name)
	if len(name) > 60 {
		name = name[:60]
	}
	return name
}

// stripErrorPath returns the cause of an error with paths, for messages that name the path already.
func stripErrorPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// formatSize formats a number of bytes for messages.
func formatSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
