package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameAt renames between two open directories. Without replace it never overwrites.
func renameAt(from, to *changeTarget, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	err := unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, flags)
	if flags != 0 && errors.Is(err, unix.EINVAL) {
		// Not all file systems support NOREPLACE. The directories are locked, and the target did not exist a moment ago.
		err = unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, 0)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV):
		return errOtherFileSystem
	case errors.Is(err, unix.EEXIST):
		return &Error{Code: Exists, Path: to.written}
	}
	return &os.LinkError{Op: "rename", Old: from.written, New: to.written, Err: err}
}
