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
	Mode     fs.FileMode // the permission bits
	Modified time.Time   // when the contents were changed last; zero for now
	Owner    *Owner      // nil for this process's user
}

// Owner is whom something belongs to.
type Owner struct{ UID, GID int }

// MetaOf returns what something is, as it was described.
func MetaOf(info fs.FileInfo) Meta {
	return Meta{Mode: info.Mode().Perm(), Modified: info.ModTime(), Owner: ownerOf(info)}
}

// unknownMode is the mode of what may have any.
const unknownMode = fs.ModeIrregular

// give makes something what m says, that has a mode now. An owner that this process can't give anything to is no error: it stays this process's then.
// The mode comes after the time, since it may take the right to set one; the owner comes last for the same reason.
func (m Meta) give(in *os.Root, name string, mode fs.FileMode) error {
	if !m.Modified.IsZero() {
		if err := in.Chtimes(name, time.Time{}, m.Modified); err != nil {
			return err
		}
	}
	if m.Mode.Perm() != mode {
		if err := in.Chmod(name, m.Mode.Perm()); err != nil {
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
