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

// intentPrefix starts the names of intent files. An intent file holds the new contents of a file during a write in
// place.
const intentPrefix = "intent-"

// maxWriteTime is the assumed maximum duration of a write in place. A later modification comes from another program.
const maxWriteTime = 10 * time.Second

// inPlaceWrite overwrites a file that can't be replaced. Its directory is read-only, as in a sandbox with a single
// whitelisted file, or replacing would change the owner. An intent file in the state directory holds the new contents,
// so that the next process can complete an interrupted write.
type inPlaceWrite struct {
	file   *os.File // open for reading and writing
	intent *os.File // intent file, locked while in use
	torn   bool     // the file is partly written; only the intent file can complete it
}

func (p *inPlaceWrite) writeIntentFile(w *Workspace, path string, data []byte) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if p.intent, err = createLockedFile(w.pending.dir, intentPrefix); err != nil {
		return err
	}
	if _, err := p.intent.WriteString(formatIntentHeader(path, info, len(data))); err != nil {
		return err
	}
	if _, err := p.intent.Write(data); err != nil {
		return err
	}
	return p.intent.Sync()
}

// formatIntentHeader returns the header of an intent file: path and inode of the target, and size of the contents that
// follow.
func formatIntentHeader(path string, info fs.FileInfo, size int) string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00", path, inodeNumber(info), size)
}

// overwriteOrRestore overwrites the file. After an error it restores the old contents.
func (p *inPlaceWrite) overwriteOrRestore(data []byte, old *OldFile) error {
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

// fileOrNil returns the open file, or nil for a nil inPlaceWrite.
func (p *inPlaceWrite) fileOrNil() *os.File {
	if p == nil {
		return nil
	}
	return p.file
}

// removeIntentFile removes the intent file, unless the write is incomplete.
func (p *inPlaceWrite) removeIntentFile() {
	if p == nil || p.intent == nil {
		return
	}
	if !p.torn {
		_ = os.Remove(p.intent.Name())
	}
	_ = p.intent.Close()
}

// completeInterruptedWrites completes writes in place of killed processes. It ignores errors.
func (w *Workspace) completeInterruptedWrites() {
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if tryFileLock(f) == nil && w.completeInterruptedWrite(f) {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// completeInterruptedWrite completes one write and reports whether its intent file is no longer needed. It ignores an
// incomplete intent file, since that write never began. It does not change a file that was replaced or modified since.
func (w *Workspace) completeInterruptedWrite(f *os.File) bool {
	all, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	parts := bytes.SplitN(all, []byte{0}, 4)
	if len(parts) < 4 || string(parts[2]) != strconv.Itoa(len(parts[3])) {
		return true
	}
	p, err := w.reopenInterruptedWrite(string(parts[0]))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = p.file.Close() }()
	info, err := p.file.Stat()
	if err != nil {
		return false
	}
	intentInfo, err := f.Stat()
	if err != nil {
		return false
	}
	if info.ModTime().After(intentInfo.ModTime().Add(maxWriteTime)) {
		return true
	}
	return inodeNumber(info) != string(parts[1]) || p.overwriteFile(parts[3]) == nil
}
