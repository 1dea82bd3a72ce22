package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// directory makes opening fail on anything but a directory.
const directory = unix.O_DIRECTORY

// openExactly opens what is at a path if no part of the path is a symbolic link. The kernel looks once.
func openExactly(path string, flags int) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// statExactly returns what is at a path if no part of the path is a symbolic link.
func statExactly(path string) (os.FileInfo, error) {
	f, err := openExactly(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Stat()
}
