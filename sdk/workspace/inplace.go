package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// intentPrefix begins the names of files that say what is being written in place.
const intentPrefix = "intent-"

// longestWrite is how long a write in place takes at most, about: who has changed the file later than that was
// somebody else.
const longestWrite = 10 * time.Second

// inPlace is how a file is changed that can't be replaced: its directory is closed to this process, as the kernel's
// wall leaves that of a single whitelisted file, or whatever took its place would belong to somebody else. The new
// contents go to the state directory first, so that the next process can finish what a killed one has begun.
type inPlace struct {
	file   *os.File // open for reading and writing
	intent *os.File // the new contents, in the state directory; locked, so that nobody takes it for a killed process's
	torn   bool     // the file is neither old nor new, and only the intent can mend it
}

// stage writes the new contents where the next process finds them.
func (p *inPlace) stage(w *Workspace, path string, data []byte) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if p.intent, err = createLocked(w.pending.dir, intentPrefix); err != nil {
		return err
	}
	if _, err := p.intent.WriteString(intentHead(path, info, len(data))); err != nil {
		return err
	}
	if _, err := p.intent.Write(data); err != nil {
		return err
	}
	return p.intent.Sync()
}

// intentHead begins an intent: the file's path and number, and how long the contents are that follow.
func intentHead(path string, info fs.FileInfo, size int) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00", path, inode(info), size)
}

// commit writes the new contents over the old. Where it fails the old ones are written back.
func (p *inPlace) commit(data []byte, old *Old) error {
	was, err := old.Bytes()
	if err != nil {
		return err
	}
	// More room is had before the first byte is changed, where the file system can give it.
	if len(data) > len(was) {
		if err := reserve(p.file, int64(len(data))); err != nil {
			return errors.Join(err, p.file.Truncate(int64(len(was))))
		}
	}
	if err := p.overwrite(data); err != nil {
		if back := p.overwrite(was); back != nil {
			p.torn = true
			return &Error{Code: Torn, Path: old.asked, Err: errors.Join(err, back)}
		}
		return err
	}
	return nil
}

func (p *inPlace) overwrite(data []byte) error {
	if _, err := p.file.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(p.file.Truncate(int64(len(data))), p.file.Sync())
}

// opened is the file, nil if nothing is changed in place.
func (p *inPlace) opened() *os.File {
	if p == nil {
		return nil
	}
	return p.file
}

// done says that there is nothing to finish any more.
func (p *inPlace) done() {
	if p == nil || p.intent == nil {
		return
	}
	if !p.torn {
		_ = os.Remove(p.intent.Name())
	}
	_ = p.intent.Close()
}

// finish writes what a killed process had begun to write in place. It does what it can.
func (w *Workspace) finish() {
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if tryLock(f) == nil && w.finishOne(f) {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// finishOne reports whether nothing is left to do. An intent that is not whole was never begun to be carried out: it
// is on the disk before the first byte of the file is changed. A file that somebody has replaced or changed since is
// left as it is.
func (w *Workspace) finishOne(f *os.File) bool {
	all, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	parts := bytes.SplitN(all, []byte{0}, 4)
	if len(parts) < 4 || string(parts[2]) != strconv.Itoa(len(parts[3])) {
		return true
	}
	p, err := w.reopen(string(parts[0]))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = p.file.Close() }()
	info, err := p.file.Stat()
	if err != nil {
		return false
	}
	begun, err := f.Stat()
	if err != nil {
		return false
	}
	if info.ModTime().After(begun.ModTime().Add(longestWrite)) {
		return true
	}
	return inode(info) != string(parts[1]) || p.overwrite(parts[3]) == nil
}
