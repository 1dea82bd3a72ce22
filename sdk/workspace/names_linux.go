package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameAt renames between two open directories; without replace nothing that is there is lost, whoever made it when.
func renameAt(from, to *target, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	err := unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, flags)
	if flags != 0 && errors.Is(err, unix.EINVAL) {
		// Not every file system can refuse to replace. The directories are locked, and there was nothing a moment ago.
		err = unix.Renameat2(int(from.handle.Fd()), from.name, int(to.handle.Fd()), to.name, 0)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV):
		return errOtherFileSystem
	case errors.Is(err, unix.EEXIST):
		return &Error{Code: Exists, Path: to.asked}
	}
	return &os.LinkError{Op: "rename", Old: from.asked, New: to.asked, Err: err}
}
