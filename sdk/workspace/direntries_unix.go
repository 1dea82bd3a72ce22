//go:build unix

package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// entries returns the directory as a handle of its own that reads entries without looking at each. One that was opened
// through an os.Root looks, so that a later look could not lead elsewhere; nobody here looks later.
func entries(d *os.File) (*os.File, error) {
	var fd int
	var err error
	conn, connErr := d.SyscallConn()
	if connErr != nil {
		return nil, connErr
	}
	if connErr = conn.Control(func(raw uintptr) {
		fd, err = unix.FcntlInt(raw, unix.F_DUPFD_CLOEXEC,
			0)
	}); connErr != nil {
		return nil, connErr
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), d.Name()), nil
}
