//go:build unix

package workspace

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// identity tells directories apart, whatever names they are reached by.
func identity(dir *os.File) (string, error) {
	info, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%016x:%016x", uint64(s.Dev), uint64(s.Ino)), nil //nolint:unconvert // signed on some systems
	}
	return dir.Name(), nil
}

// tryLock locks a file or directory for this handle, or fails with filelock.ErrLocked. On file systems that have no locks nobody
// else could have one either.
func tryLock(f *os.File) error {
	err := filelock.Lock(f)
	if filelock.Unsupported(err) {
		return nil
	}
	return err
}

// releaseLock ends what tryLock began.
func releaseLock(f *os.File) { _ = filelock.Unlock(f) }

// links returns how many names a file has.
func links(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // narrower on some systems
	}
	return 1
}

// inode returns the number that tells a file from others that come to its name later.
func inode(info os.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Ino), 10) //nolint:unconvert // signed on some systems
	}
	return ""
}

// ownerOf returns whom something belongs to.
func ownerOf(info os.FileInfo) *Owner {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return &Owner{UID: int(s.Uid), GID: int(s.Gid)}
	}
	return nil
}

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

// nonblock makes opening a FIFO return at once. Regular files and directories do not block in this sense; there it only
// spares what os does to find that out.
const nonblock = syscall.O_NONBLOCK
