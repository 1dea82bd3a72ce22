package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// statExactly returns what is at a path if no part of the path is a symbolic link. The kernel looks once.
func statExactly(path string) (os.FileInfo, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	return f.Stat()
}
