package workspace

import (
	"bytes"
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

// Tags of an access control list: a list has a version in 4 bytes, and 8 bytes for each entry.
const (
	aclUserOwner, aclUser, aclGroupOwner, aclGroup, aclMask, aclOther = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
)

// eachACLEntry calls fn with the tag and the permission bits of each entry of an access control list.
func eachACLEntry(list []byte, fn func(tag byte, bits *byte)) {
	for at := 4; at+8 <= len(list); at += 8 {
		fn(list[at], &list[at+2])
	}
}

// equalACLExceptMode reports whether two access control lists differ in bits of the file mode only.
func equalACLExceptMode(a, b string) bool {
	x, y := []byte(a), []byte(b)
	for _, list := range [][]byte{x, y} {
		eachACLEntry(list, func(tag byte, bits *byte) {
			if tag == aclUserOwner || tag == aclMask || tag == aclOther {
				*bits = 0
			}
		})
	}
	return bytes.Equal(x, y)
}

// modeWithoutACL returns a mode that, without an access control list, allows nobody more than the mode with the list.
func modeWithoutACL(mode fs.FileMode, list string) fs.FileMode {
	group, named, mask := byte(7), byte(7), byte(7)
	eachACLEntry([]byte(list), func(tag byte, bits *byte) {
		switch tag {
		case aclUser, aclGroup:
			named &= *bits
		case aclGroupOwner:
			group = *bits
		case aclMask:
			mask = *bits
		}
	})
	named &= mask
	return mode & (fs.FileMode(group&named)<<3 | fs.FileMode(named) | ^fs.FileMode(0o077))
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
			if wanted&bit != 0 && errors.Is(err, fs.ErrPermission) {
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
		list, wanted := m.Attributes[AccessList]
		now, readErr := ReadXattrs(f)
		if err = nil; wanted && (readErr != nil || !equalACLExceptMode(now[AccessList], list)) {
			delete(now, AccessList)
			_ = replaceXattrs(f, now)
			m.Mode = modeWithoutACL(m.Mode, list)
		}
	}
	return m.Mode, errors.Join(err, f.Close())
}
