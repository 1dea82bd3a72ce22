package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Meta is what something is besides its contents.
type Meta struct {
	Mode     fs.FileMode // the permission bits, and of a directory the setgid and sticky bit besides
	Modified time.Time   // when the contents were changed last; zero for now
	Owner    *Owner      // nil for this process's user

	// Attributes are extended attributes, as [Attributes] returns them. A file system that takes none is no error.
	Attributes map[string]string
}

// Owner is whom something belongs to.
type Owner struct{ UID, GID int }

// MetaOf returns what something is, as it was described.
func MetaOf(info fs.FileInfo) Meta {
	return Meta{Mode: info.Mode(), Modified: info.ModTime(), Owner: ownerOf(info)}
}

// bits are those of the mode that are given back. A program that is run as somebody else is not made anew.
func (m Meta) bits() fs.FileMode {
	if m.Mode.IsDir() {
		return m.Mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	}
	return m.Mode.Perm()
}

// unknownMode is the mode of what may have any.
const unknownMode = fs.ModeIrregular

// SetMeta makes a file or a directory what meta says. A link at the end of the path is not followed, and left alone.
func (w *Workspace) SetMeta(path string, meta Meta) error {
	t, err := w.targetAs(guard.Write, false, path)
	if err != nil {
		return notItself(err, path)
	}
	defer t.close()
	info, err := t.dir.Lstat(t.name)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	return meta.give(t.dir, t.name, info.Mode().Perm())
}

// give makes something what m says, that has a mode now. An owner that this process can't give anything to is no error:
// it stays this process's then. The mode comes after the time, since it may take the right to set one; the owner comes
// last for the same reason.
func (m Meta) give(in *os.Root, name string, mode fs.FileMode) error {
	if err := m.giveAttributes(in, name); err != nil {
		return err
	}
	if !m.Modified.IsZero() {
		if err := in.Chtimes(name, time.Time{}, m.Modified); err != nil {
			return err
		}
	}
	if wanted := m.bits(); wanted != mode {
		err := in.Chmod(name, wanted)
		if errors.Is(err, fs.ErrPermission) && wanted != m.Mode.Perm() { // a sandbox lets nobody set such bits
			err = in.Chmod(name, m.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	if m.Owner == nil || (m.Owner.UID == os.Geteuid() && m.Owner.GID == os.Getegid()) {
		return nil
	}
	err := in.Lchown(name, m.Owner.UID, m.Owner.GID)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// giveAttributes comes before the mode, which may take the right to open it.
func (m Meta) giveAttributes(in *os.Root, name string) error {
	if len(m.Attributes) == 0 {
		return nil
	}
	f, err := in.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	err = setAttributes(f, m.Attributes)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
