package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
