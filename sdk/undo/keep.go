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
)

// keepContents keeps the contents of a regular file, once.
func (r *Recorder) keepContents(e *entry, o *object) {
	if !o.isRegular() || o.Created || o.tried || r.broken != nil {
		if o.isUnmakeable() && !o.Created && !o.tried {
			o.tried = true
			kind := "a device"
			if o.Mode&fs.ModeSocket != 0 {
				kind = "a socket"
			}
			r.noteLost(hiddentext.QuoteName(r.entryPath(e)) + " (" + kind + ")")
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
		if left := r.countBytesLeft(); o.Size > left {
			err = fmt.Errorf("%s, more than is kept of one operation", sizeText(o.Size))
		} else {
			r.beginArchive()
			if r.broken == nil {
				if o.Attributes == nil {
					o.Attributes = attributesOf(file)
				}
				o.Content, err = r.out.keepContents(baseName(string(e.Name)), o.Size, file)
			}
		}
		_ = file.Close()
	}
	if err != nil {
		r.noteLost(fmt.Sprintf("%s (%v)", hiddentext.QuoteName(r.entryPath(e)), errorReason(err)))
		return
	}
	if o.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		r.loseKind(r.entryPath(e), "the setuid and setgid bits of files")
	}
	if o.UID == nobody || o.GID == nobody {
		r.loseKind(r.entryPath(e), "owners of files other than picoclaw's")
	}
	r.noteObject(o)
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
		f, err := d.openName(string(e.Name))
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

// beginArchive makes the archive, with what is known so far.
func (r *Recorder) beginArchive() {
	if r.out != nil || r.broken != nil {
		return
	}
	r.record.ID, r.record.Time = r.store.newID(), time.Now().UTC().Truncate(time.Millisecond)
	r.out, r.broken = r.store.createArchive(&r.record.Operation)
	r.flushJournal()
}

// addLine adds a line to the journal, from which an operation is known whose process is killed.
func (r *Recorder) addLine(line journalLine) {
	data, err := json.Marshal(line)
	if err != nil {
		r.broken = err
		return
	}
	r.journal.Write(append(data, '\n'))
}

// noteObject adds an object to the journal, as it is when the journal is written.
func (r *Recorder) noteObject(o *object) {
	if !o.noted {
		o.noted = true
		r.objects = append(r.objects, o)
	}
}

// flushNotes writes the journal before the change that was announced takes place.
func (r *Recorder) flushNotes() {
	if r.journal.Len()+len(r.objects) == 0 {
		return
	}
	r.beginArchive()
	r.flushJournal()
}

func (r *Recorder) flushJournal() {
	for _, o := range r.objects {
		r.addLine(journalLine{Object: o, Index: o.index})
		o.noted = false
	}
	r.objects = r.objects[:0]
	if r.broken == nil && r.journal.Len() > 0 {
		if r.out.bytesWritten() > r.store.MaxOperation() {
			r.broken = fmt.Errorf("it changed more than %s can tell of", sizeText(r.store.MaxOperation()))
		} else if err := r.out.writeMember(journalMember, r.journal.Bytes()); err != nil {
			r.broken = err
		} else {
			r.broken = r.out.flushBuffer()
		}
	}
	r.journal.Reset()
}

// countBytesLeft returns how many bytes may still be kept.
func (r *Recorder) countBytesLeft() int64 {
	if r.out == nil {
		return r.store.MaxOperation()
	}
	return r.store.MaxOperation() - r.out.bytesWritten()
}

// loseKind names one of many paths that share a reason.
func (r *Recorder) loseKind(path, kind string) {
	what := fmt.Sprintf("%s… (%s)", hiddentext.QuoteName(fmt.Sprintf("%.100s", path)), kind)
	for _, lost := range r.record.Lost {
		if len(lost) > len(kind) && lost[len(lost)-len(kind)-1:len(lost)-1] == kind {
			return
		}
	}
	r.noteLost(what)
}

// noteLost names something that undo does not restore.
func (r *Recorder) noteLost(what string) {
	switch {
	case slices.Contains(r.record.Lost, what):
	case len(r.record.Lost) < maxLost:
		r.record.Lost = append(r.record.Lost, what)
	case len(r.record.Lost) == maxLost:
		r.record.Lost = append(r.record.Lost, "and more")
	}
}

// entryPath returns the path of an entry as it was when the operation met it.
func (r *Recorder) entryPath(e *entry) string { return r.record.entryPath(e, (*record).metPath) }

// baseName is a name that a member of an archive may have.
func baseName(name string) string {
	name = filepath.Base(name)
	if len(name) > 60 {
		name = name[:60]
	}
	return name
}

// errorReason returns an error without its path, which the message names already.
func errorReason(err error) error {
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
