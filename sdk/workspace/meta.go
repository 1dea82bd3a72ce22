package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Meta is what something is besides its contents.
type Meta struct {
	Mode     fs.FileMode // the permission bits, and of a directory the setgid and sticky bit besides
	Modified time.Time   // when the contents were changed last; zero for now
	Owner    *Owner      // nil for this process's user

	// Attributes are all its extended attributes, as [Attributes] returns them; nil for those that it has. A file system
	// that takes none is no error.
	Attributes map[string]string
}

// Owner is whom something belongs to.
type Owner struct{ UID, GID int }

// bits are those of the mode that are given back. A program that is run as somebody else is not made anew.
func (m Meta) bits() fs.FileMode {
	if m.Mode.IsDir() {
		return m.Mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	}
	return m.Mode.Perm()
}

// Give makes what is at a name in a directory what m says; of a link the time and the owner. An owner that this process
// can't give anything to is no error: it stays this process's then. The mode comes after attributes and time, since it
// may take the right to set them; the owner comes last for the same reason.
func (m Meta) Give(in *os.Root, name string) error {
	info, err := in.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.Join(m.giveLinkTime(in, name), m.giveOwner(in, name, info))
	}
	mode := info.Mode()
	if m.Attributes != nil {
		if mode&0o600 != 0o600 {
			if mode |= 0o600; in.Chmod(name, mode) != nil {
				mode = info.Mode()
			}
		}
		if err := m.giveAttributes(in, name); err != nil {
			return err
		}
		if len(m.Attributes) > 0 {
			mode = unknownMode // a list of who has access changes it
		}
	}
	if !m.Modified.IsZero() && !m.Modified.Equal(info.ModTime()) {
		if err := in.Chtimes(name, time.Time{}, m.Modified); err != nil {
			return err
		}
	}
	if wanted := m.bits(); wanted != mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) {
		err := in.Chmod(name, wanted)
		if errors.Is(err, fs.ErrPermission) && wanted != m.Mode.Perm() { // a sandbox lets nobody set such bits
			err = in.Chmod(name, m.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return m.giveOwner(in, name, info)
}

// unknownMode is no mode that anything has.
const unknownMode = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func (m Meta) giveOwner(in *os.Root, name string, info fs.FileInfo) error {
	if is := ownerOf(info); m.Owner == nil || is != nil && *is == *m.Owner {
		return nil
	}
	err := in.Lchown(name, m.Owner.UID, m.Owner.GID)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// giveLinkTime gives a link its time, where the system has a call for that.
func (m Meta) giveLinkTime(in *os.Root, name string) error {
	if m.Modified.IsZero() {
		return nil
	}
	dir, err := in.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(setLinkTime(dir, name, m.Modified), dir.Close())
}

// giveAttributes comes before the mode, which may take the right to open it.
func (m Meta) giveAttributes(in *os.Root, name string) error {
	f, err := in.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		if len(m.Attributes) == 0 && errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	err = setAttributes(f, m.Attributes)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOTSUP) ||
		errors.Is(err, syscall.EINVAL) { // a list that names somebody whom this process does not know
		err = nil
	}
	return errors.Join(err, f.Close())
}
