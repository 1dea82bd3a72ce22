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
	Mode     fs.FileMode // permission and sticky bits; for a directory also setgid
	Modified time.Time   // zero for the current time
	Owner    *OwnerIDs   // nil for the user of this process

	// Attributes are all extended attributes, as returned by [ReadXattrs]; nil keeps the existing ones. File
	// systems without attributes ignore them.
	Attributes map[string]string
}

// OwnerIDs is the user id and group id of a file.
type OwnerIDs struct{ UID, GID int }

// restorableMode returns the mode bits to set. It drops setuid, and setgid of a file.
func (m FileMeta) restorableMode() fs.FileMode {
	if m.Mode.IsDir() {
		return m.Mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	}
	return m.Mode & (fs.ModePerm | fs.ModeSticky)
}

// AccessList is the extended attribute with the access control list of a file.
const AccessList = "system.posix_acl_access"

// splitAccessList returns an access control list without the bits of the file mode, and the bits that it gives to
// everybody whom it names. The list has a version in 4 bytes, and 8 bytes for each entry: a tag, bits, and an id.
func splitAccessList(list string) (rest string, common byte) {
	const owner, mask, other = 0x01, 0x10, 0x20
	all := []byte(list)
	common = 7
	for at := 4; at+8 <= len(all); at += 8 {
		tag, bits := all[at], all[at+2]
		if tag != owner && tag != other {
			common &= bits
		}
		if tag == owner || tag == mask || tag == other {
			all[at+2] = 0
		}
	}
	return string(all), common
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
		if m.Mode, err = m.setXattrs(in, name); err != nil {
			return err
		}
		if len(m.Attributes) > 0 { // an access control list changes the mode
			if changed, err := in.Lstat(name); err == nil {
				mode = changed.Mode()
			}
		}
	}
	if !m.Modified.IsZero() && !m.Modified.Equal(info.ModTime()) {
		if err := in.Chtimes(name, time.Time{}, m.Modified); err != nil {
			return err
		}
	}
	wanted := m.restorableMode() | m.Mode&mode&(fs.ModeSetuid|fs.ModeSetgid) // a file keeps the bits that it has
	if wanted != mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) {
		err := in.Chmod(name, wanted)
		for _, bit := range []fs.FileMode{fs.ModeSetgid, fs.ModeSticky} { // sandboxes deny these bits
			if wanted&bit != 0 && (errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported)) {
				wanted &^= bit
				err = in.Chmod(name, wanted)
			}
		}
		if err != nil {
			return err
		}
	}
	return m.setOwner(in, name, info)
}

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

// setXattrs sets the extended attributes. It must run before the mode is set, which may forbid opening the file. It
// returns the mode to set: a narrower one if the file can't get its access control list.
func (m FileMeta) setXattrs(in *os.Root, name string) (fs.FileMode, error) {
	f, err := in.OpenFile(name, os.O_RDONLY|nonblockFlag, 0)
	if err != nil {
		if len(m.Attributes) == 0 && errors.Is(err, fs.ErrPermission) {
			return m.Mode, nil
		}
		return m.Mode, err
	}
	err = replaceXattrs(f, m.Attributes)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOTSUP) ||
		errors.Is(err, syscall.EINVAL) { // an access control list with an unknown user
		now, readErr := ReadXattrs(f)
		wanted, common := splitAccessList(m.Attributes[AccessList])
		if has, _ := splitAccessList(now[AccessList]); readErr != nil || has != wanted { // without it, nobody may do more
			delete(now, AccessList)
			_ = replaceXattrs(f, now)
			m.Mode &^= fs.ModePerm &^ (0o700 | fs.FileMode(common)<<3 | fs.FileMode(common))
		}
		err = nil
	}
	return m.Mode, errors.Join(err, f.Close())
}
