package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// FileMeta is metadata to set on a file.
type FileMeta struct {
	Mode     fs.FileMode // permission bits; for a directory also setgid and sticky
	Modified time.Time   // zero for the current time
	Owner    *OwnerIDs   // nil for the user of this process

	// Attributes are all extended attributes, as returned by [ReadXattrs]; nil keeps the existing ones. File
	// systems without attributes ignore them.
	Attributes map[string]string
}

// OwnerIDs is the user id and group id of a file.
type OwnerIDs struct{ UID, GID int }

// restorableMode returns the mode bits to set. It drops setuid.
func (m FileMeta) restorableMode() fs.FileMode {
	if m.Mode.IsDir() {
		return m.Mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	}
	return m.Mode.Perm()
}

// ApplyTo sets the metadata of the file at a name in a directory. For a symlink it sets only time and owner. If the
// owner can't be set, the file keeps the owner of this process. Mode and owner come last, because they may remove the
// right to set the rest.
func (m FileMeta) ApplyTo(in *os.Root, name string) error {
	info, err := in.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.Join(m.setSymlinkTime(in, name), m.setOwner(in, name, info))
	}
	mode := info.Mode()
	if m.Attributes != nil {
		if mode&0o600 != 0o600 {
			if mode |= 0o600; in.Chmod(name, mode) != nil {
				mode = info.Mode()
			}
		}
		if err := m.setXattrs(in, name); err != nil {
			return err
		}
		if len(m.Attributes) > 0 {
			mode = impossibleMode // an access control list changes it
		}
	}
	if !m.Modified.IsZero() && !m.Modified.Equal(info.ModTime()) {
		if err := in.Chtimes(name, time.Time{}, m.Modified); err != nil {
			return err
		}
	}
	if wanted := m.restorableMode(); wanted != mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) {
		err := in.Chmod(name, wanted)
		if errors.Is(err, fs.ErrPermission) && wanted != m.Mode.Perm() { // sandboxes deny these bits
			err = in.Chmod(name, m.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return m.setOwner(in, name, info)
}

// impossibleMode is a mode that no file has.
const impossibleMode = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func (m FileMeta) setOwner(in *os.Root, name string, info fs.FileInfo) error {
	if is := fileOwner(info); m.Owner == nil || is != nil && *is == *m.Owner {
		return nil
	}
	err := in.Lchown(name, m.Owner.UID, m.Owner.GID)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// setSymlinkTime sets the modification time of a symlink, where supported.
func (m FileMeta) setSymlinkTime(in *os.Root, name string) error {
	if m.Modified.IsZero() {
		return nil
	}
	dir, err := in.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(setSymlinkTime(dir, name, m.Modified), dir.Close())
}

// setXattrs sets the extended attributes. It must run before the mode is set, which may forbid opening the file.
func (m FileMeta) setXattrs(in *os.Root, name string) error {
	f, err := in.OpenFile(name, os.O_RDONLY|nonblockFlag, 0)
	if err != nil {
		if len(m.Attributes) == 0 && errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	err = replaceXattrs(f, m.Attributes)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOTSUP) ||
		errors.Is(err, syscall.EINVAL) { // an access control list with an unknown user
		err = nil
	}
	return errors.Join(err, f.Close())
}
