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

// intentPrefix begins the names of files that record writes in place.
const intentPrefix = "intent-"

// maxWriteTime is the assumed maximum duration of a write in place; a later change is by another program.
const maxWriteTime = 10 * time.Second

// inPlaceWrite changes a file that can't be replaced: its directory is read-only, as in a sandbox with a single
// whitelisted file, or the replacement would change its owner. The new contents are first stored in the state
// directory, so that the next process can complete an interrupted write.
type inPlaceWrite struct {
	file   *os.File // open for reading and writing
	intent *os.File // new contents in the state directory, locked while in use
	torn   bool     // the file is partly written, only the intent can complete it
}

// stageIntent stores the new contents for recovery.
func (p *inPlaceWrite) stageIntent(w *Workspace, path string, data []byte) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if p.intent, err = createLocked(w.pending.dir, intentPrefix); err != nil {
		return err
	}
	if _, err := p.intent.WriteString(intentHeader(path, info, len(data))); err != nil {
		return err
	}
	if _, err := p.intent.Write(data); err != nil {
		return err
	}
	return p.intent.Sync()
}

// intentHeader returns the header of an intent: path and inode of the file, and size of the contents that follow.
func intentHeader(path string, info fs.FileInfo, size int) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00", path, inodeNumber(info), size)
}

// commitWrite overwrites the file, and restores the old contents if that fails.
func (p *inPlaceWrite) commitWrite(data []byte, old *OldFile) error {
	was, err := old.Bytes()
	if err != nil {
		return err
	}
	// Allocate space before changing the first byte.
	if len(data) > len(was) {
		if err := reserveSpace(p.file, int64(len(data))); err != nil {
			return errors.Join(err, p.file.Truncate(int64(len(was))))
		}
	}
	if err := p.overwriteFile(data); err != nil {
		if back := p.overwriteFile(was); back != nil {
			p.torn = true
			return &Error{Code: Torn, Path: old.asked, Err: errors.Join(err, back)}
		}
		return err
	}
	return nil
}

func (p *inPlaceWrite) overwriteFile(data []byte) error {
	if _, err := p.file.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(p.file.Truncate(int64(len(data))), p.file.Sync())
}

// openFile returns the file; nil without a write in place.
func (p *inPlaceWrite) openFile() *os.File {
	if p == nil {
		return nil
	}
	return p.file
}

// finishIntent removes the intent after the write.
func (p *inPlaceWrite) finishIntent() {
	if p == nil || p.intent == nil {
		return
	}
	if !p.torn {
		_ = os.Remove(p.intent.Name())
	}
	_ = p.intent.Close()
}

// recoverIntents completes interrupted writes of killed processes, as far as possible.
func (w *Workspace) recoverIntents() {
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if tryLock(f) == nil && w.recoverIntent(f) {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// recoverIntent reports whether nothing is left to do. An incomplete intent was never begun. A file that was replaced
// or changed since is left unchanged.
func (w *Workspace) recoverIntent(f *os.File) bool {
	all, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	parts := bytes.SplitN(all, []byte{0}, 4)
	if len(parts) < 4 || string(parts[2]) != strconv.Itoa(len(parts[3])) {
		return true
	}
	p, err := w.reopenInPlace(string(parts[0]))
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
	if info.ModTime().After(begun.ModTime().Add(maxWriteTime)) {
		return true
	}
	return inodeNumber(info) != string(parts[1]) || p.overwriteFile(parts[3]) == nil
}
