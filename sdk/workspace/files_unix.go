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

// dirIdentity returns a string that identifies a directory independently of its path.
func dirIdentity(dir *os.File) (string, error) {
	info, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%016x:%016x", uint64(s.Dev), uint64(s.Ino)), nil //nolint:unconvert // signed on some systems
	}
	return dir.Name(), nil
}

// tryFileLock locks a file or directory, or returns filelock.ErrLocked at once. On file systems without locks it
// succeeds.
func tryFileLock(f *os.File) error {
	err := filelock.Lock(f)
	if filelock.IsUnsupported(err) {
		return nil
	}
	return err
}

func releaseFileLock(f *os.File) { _ = filelock.Unlock(f) }

// linkCount returns the number of hard links of a file.
func linkCount(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // narrower on some systems
	}
	return 1
}

// inodeNumber returns the inode number of a file. It tells a file from a later file with the same name.
func inodeNumber(info os.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Ino), 10) //nolint:unconvert // signed on some systems
	}
	return ""
}

func fileOwner(info os.FileInfo) *OwnerIDs {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return &OwnerIDs{UID: int(s.Uid), GID: int(s.Gid)}
	}
	return nil
}

// duplicateDirHandle returns a second handle of an open directory. Unlike a handle of os.Root, it reads entries without
// a stat call for each.
func duplicateDirHandle(d *os.File) (*os.File, error) {
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

// nonblockFlag makes opening a FIFO return at once.
const nonblockFlag = syscall.O_NONBLOCK
