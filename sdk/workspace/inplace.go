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
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
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

// isReadOnlyDirError reports whether an error means that a directory is read-only. Files in it may be writable.
func isReadOnlyDirError(err error) bool {
	return (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && !errors.Is(err, Refused)
}

// openInPlaceTarget opens a whitelisted file for a write in place.
func (w *Workspace) openInPlaceTarget(path string) (*changeTarget, error) {
	if w.pending.dir == "" || w.readOnly {
		return nil, fs.ErrPermission
	}
	abs, err := w.AbsPath(path)
	if err != nil {
		return nil, err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return nil, err
	}
	if w.findAllowedRoot(guard.Write, real) != nil || !w.isWhitelisted(guard.Write, real) {
		return nil, fs.ErrPermission
	}
	before, err := statNoSymlinks(real)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, notRegularError(path, before.Mode())
	}
	f, err := openNoSymlinks(real, os.O_RDWR|nonblockFlag)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		_ = f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", path)
	}
	return &changeTarget{handle: f, name: filepath.Base(real), path: real, written: path, exact: true, inPlace: &inPlaceWrite{file: f}},
		nil
}

// openForeignInPlace opens another user's file for a write in place that keeps the owner. It refuses files with several
// hard links, because their other names would change too.
func (t *changeTarget) openForeignInPlace(w *Workspace, was fs.FileInfo) (*inPlaceWrite, error) {
	if w.pending.dir == "" {
		return nil, errors.New("a change in place needs a state directory")
	}
	f, err := t.dir.OpenFile(t.name, os.O_RDWR|nonblockFlag, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(was, info):
		err = fmt.Errorf("%s was replaced while it was opened", t.written)
	case linkCount(info) > 1:
		err = fmt.Errorf("it has %d names (hard links)", linkCount(info))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &inPlaceWrite{file: f}, nil
}

// reopenInterruptedWrite opens the file of an interrupted write, if the policy still allows writing it.
func (w *Workspace) reopenInterruptedWrite(path string) (*inPlaceWrite, error) {
	t, err := w.openTargetParent(guard.Write, path)
	if err == nil {
		defer t.closeHandles()
	}
	if isReadOnlyDirError(err) || err == nil && t.exact {
		single, openErr := w.openInPlaceTarget(path)
		if openErr != nil {
			return nil, openErr
		}
		return single.inPlace, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := t.dir.Lstat(t.name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist // the file was replaced
	}
	return t.openForeignInPlace(w, info)
}

// overwriteForeignFile overwrites another user's file in place with the contents of a source.
func (w *Workspace) overwriteForeignFile(source *TreeEntry, to *changeTarget) error {
	file, info, err := to.toAccessTarget().openRegular(to.written)
	if err != nil {
		return err
	}
	old := &OldFile{Info: info, w: w, file: file, asked: to.written}
	defer old.closeFile()
	p, err := to.openForeignInPlace(w, info)
	if err != nil {
		return &Error{Code: Foreign, Path: to.written, Err: err}
	}
	defer func() {
		p.removeIntentFile()
		_ = p.file.Close()
	}()
	in, err := source.Open()
	if err != nil {
		return err
	}
	data, err := (&OldFile{Info: source.Info, w: w, file: in, asked: source.Name}).Bytes()
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if err := p.writeIntentFile(w, to.path, data); err != nil {
		return err
	}
	return p.overwriteOrRestore(data, old)
}
