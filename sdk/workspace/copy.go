package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// CopyTree copies a file or a directory tree with modes and extended attributes. It copies symlinks as symlinks. The
// copy appears completely or not at all. An overwritten file keeps its mode and owner.
func (w *Workspace) CopyTree(source, destination string, o TransferOptions) error {
	return w.withAllowedTarget(guard.Read, source, func(at accessTarget) error {
		from, done, err := at.openTree()
		if err != nil {
			return err
		}
		defer done()
		to, err := w.openTargetParent(guard.Write, destination)
		if err != nil {
			return explainRootChangeError(err, destination)
		}
		defer to.closeHandles()
		unlock, err := w.locks.lockDirs([]*os.File{to.handle})
		if err != nil {
			return err
		}
		defer unlock()
		if real, resolveErr := paths.Resolve(from.Path); resolveErr == nil {
			from.Path = real
		}
		t, err := planTransfer(source, from, to, o)
		if err != nil {
			return err
		}
		if t.Replaced != nil && os.SameFile(from.Info, t.Replaced.Info) {
			return &Error{Code: Same, Path: source, Err: errors.New(destination)}
		}
		if err := checkCopyable(from, w.MaxFileSize(), o.Stop); err != nil {
			return err
		}
		if err := w.refuseProtectedTransfer(source, destination, t); err != nil {
			return err
		}
		if o.Last != nil {
			if err := o.Last(t); err != nil {
				return err
			}
		}
		if err := w.copyToTemp(from, to, t.Replaced != nil, w.MaxFileSize(), o.Stop); err != nil {
			return err
		}
		return to.syncTargetDir()
	})
}

// checkCopyable returns an error if a tree contains a special file or a file over the size limit.
func checkCopyable(tree *FileTree, limit int64, stop copyStopCheck) error {
	return tree.WalkTree(func(e *TreeEntry) error {
		if err := stop.checkStop(); err != nil {
			return err
		}
		shown := filepath.Join(tree.Path, filepath.FromSlash(e.Name))
		switch mode := e.Info.Mode(); {
		case mode.IsDir(), mode&fs.ModeSymlink != 0:
			return nil
		case !mode.IsRegular():
			return notRegularError(shown, mode)
		case limit > 0 && e.Info.Size() > limit:
			return tooLargeError(shown, e.Info.Size(), limit)
		}
		return nil
	})
}

// copyToTemp copies a tree to a temporary name next to its destination, then renames it.
func (w *Workspace) copyToTemp(source *FileTree, to *changeTarget, replace bool, limit int64, stop copyStopCheck) error {
	temp, err := to.reserveTempName(w)
	if err != nil {
		return err
	}
	c := treeCopier{source, to, replace, limit, stop}
	if err = c.copyTree(temp.name); err != nil {
		temp.removeTempFile()
		if errors.Is(err, errForeign) {
			return w.overwriteForeignFile(source.topEntry(), to)
		}
		return err
	}
	if err = w.verifyAndSyncCopy(source, to, temp.name); err != nil {
		temp.removeTempFile()
		return err
	}
	put := func() error {
		made := *to
		made.name = temp.name
		return renameAt(&made, to, replace && !source.Info.IsDir())
	}
	if replace && source.Info.IsDir() {
		err = w.withTargetMovedAside(to, put)
	} else {
		err = put()
	}
	if err != nil {
		temp.removeTempFile()
		return err
	}
	temp.freeTempRecord()
	return nil
}

// verifyAndSyncCopy checks a finished copy for protected files, since the source may have changed. It then syncs a
// directory tree to disk.
func (w *Workspace) verifyAndSyncCopy(source *FileTree, to *changeTarget, temp string) error {
	copied := &FileTree{Path: filepath.Join(filepath.Dir(to.path), temp), Info: source.Info}
	err := w.refuseProtectedTransfer(source.Path, to.written, &TransferPlan{Source: copied, Destination: to.path})
	if err != nil || !source.Info.IsDir() {
		return err
	}
	return syncTree(to, temp)
}

// treeCopier copies a tree to a temporary name next to its destination.
type treeCopier struct {
	source  *FileTree
	to      *changeTarget
	replace bool // take over the replaced file's metadata
	limit   int64
	stop    copyStopCheck
}

func (c *treeCopier) copyTree(name string) (err error) {
	if !c.source.Info.IsDir() {
		return c.copyEntry(c.source.topEntry(), c.to.dir, name)
	}
	b := &dirStack{} // which makes each in a directory that is open, however deep it is
	defer func() {
		for len(b.dirs) > 0 {
			err = errors.Join(err, b.popDir())
		}
	}()
	return c.source.WalkTree(func(e *TreeEntry) error {
		in, base := c.to.dir, name
		if e.Name != "." {
			var err error
			if in, base, err = b.popToParent(e.Name); err != nil {
				return err
			}
		}
		if mode := e.Info.Mode(); mode.IsDir() {
			return errors.Join(c.stop.checkStop(), b.pushNewDir(e.Name, in, base, FileMeta{Mode: mode.Perm()}))
		}
		return c.copyEntry(e, in, base)
	})
}

// copyEntry copies a file or symlink.
func (c *treeCopier) copyEntry(e *TreeEntry, in *os.Root, base string) error {
	if err := c.stop.checkStop(); err != nil {
		return err
	}
	switch mode := e.Info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		link, err := e.Readlink()
		if err != nil {
			return err
		}
		return in.Symlink(link, base)
	case mode.IsRegular():
		return c.copyFile(e, in, base)
	default:
		return notRegularError(filepath.Join(c.source.Path, e.Name), mode)
	}
}

func (c *treeCopier) copyFile(e *TreeEntry, dir *os.Root, base string) (err error) {
	in, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := c.stop.copySparse(out, in, c.limit)
	if err != nil {
		return err
	}
	if c.limit > 0 && n > c.limit {
		return tooLargeError(e.Name, n, c.limit)
	}
	if e.Name != "." {
		return copyModeAndXattrs(in, e.Info, out) // directories are synced as a whole
	}
	if c.replace {
		err = copyOldMetadata(c.to, out)
	} else {
		err = copyModeAndXattrs(in, e.Info, out)
	}
	if err != nil {
		return err
	}
	return out.Sync()
}

// copyOldMetadata gives a copy the metadata of the file it replaces.
func copyOldMetadata(to *changeTarget, out *os.File) error {
	old, info, err := to.toAccessTarget().openRegular(to.written)
	if err != nil {
		return fmt.Errorf("keep the mode of %s: %w", to.written, err)
	}
	defer func() { _ = old.Close() }()
	if info.Mode().Perm()&0o222 == 0 {
		return &Error{Code: ReadOnly, Path: to.written}
	}
	return preserveMetadata(old, info, out)
}

// copyStopCheck returns an error if a copy must stop. A nil copyStopCheck never stops it.
type copyStopCheck func() error

func (s copyStopCheck) checkStop() error {
	if s == nil {
		return nil
	}
	return s()
}

// copyChunk is the number of bytes copied between two stop checks.
const copyChunk = 64 << 20

// copySparse copies a file's contents and preserves holes. It copies at most limit+1 bytes, so that the caller detects
// a file over the limit.
func (s copyStopCheck) copySparse(out, in *os.File, limit int64) (size int64, err error) {
	most := int64(math.MaxInt64)
	if limit > 0 {
		most = limit + 1
	}
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if !hasHoles(info) || info.Size() >= most {
		return s.copyChunks(out, in, most)
	}
	for at := int64(0); at < info.Size(); {
		from, to, err := nextDataRegion(in, at, info.Size())
		if err != nil {
			return at, err
		}
		if from == to {
			break // only a hole remains
		}
		for _, f := range []*os.File{in, out} {
			if _, err = f.Seek(from, io.SeekStart); err != nil {
				return at, err
			}
		}
		n, err := s.copyChunks(out, in, to-from)
		if err != nil {
			return from + n, err
		}
		if at = from + n; at < to {
			return at, nil // the file was truncated
		}
	}
	return info.Size(), out.Truncate(info.Size())
}

// copyChunks copies bytes from the current offsets, up to the limit most. It can stop before each chunk.
func (s copyStopCheck) copyChunks(out, in *os.File, most int64) (all int64, err error) {
	for all < most {
		if err := s.checkStop(); err != nil {
			return all, err
		}
		n, err := io.CopyN(out, in, min(copyChunk, most-all))
		all += n
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// dirStack is the chain of open directories while a tree is created. Names arrive in depth-first order, slash-separated
// and relative to the tree. Each entry is created in an open directory, so the depth is not limited by the path length.
type dirStack struct {
	dirs []*stackedDir // from the top to the current directory
}

// stackedDir is a directory whose entries are being created.
type stackedDir struct {
	name string // relative to the tree
	in   *os.Root
	base string
	dir  *os.Root
	meta FileMeta
}

// pushNewDir creates a directory, opens it and puts it on the stack.
func (s *dirStack) pushNewDir(name string, in *os.Root, base string, meta FileMeta) error {
	if err := in.Mkdir(base, newDirMode); err != nil {
		return err
	}
	dir, err := in.OpenRoot(base)
	if err != nil {
		return err
	}
	s.dirs = append(s.dirs, &stackedDir{name, in, base, dir, meta})
	return nil
}

// popDir sets the metadata of the innermost directory and closes it. The metadata comes last, because it may remove
// write permission and new entries change the time.
func (s *dirStack) popDir() error {
	last := s.dirs[len(s.dirs)-1]
	s.dirs = s.dirs[:len(s.dirs)-1]
	return errors.Join(last.meta.ApplyTo(last.in, last.base), last.dir.Close())
}

// popToParent pops completed directories until the parent of a name is on top, and returns that parent.
func (s *dirStack) popToParent(name string) (in *os.Root, base string, err error) {
	dir := path.Dir(name)
	for s.dirs[len(s.dirs)-1].name != dir {
		if len(s.dirs) == 1 {
			return nil, "", fmt.Errorf("%s is not in the directory that is being filled", name)
		}
		if err := s.popDir(); err != nil {
			return nil, "", err
		}
	}
	return s.dirs[len(s.dirs)-1].dir, path.Base(name), nil
}
