package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

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
	if errors.Is(err, unix.ENOSYS) { // an old kernel, or a sandbox that can't look into what this call is asked for
		fd, err = walkExactly(path, flags)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// walkExactly opens a path name by name, each in the directory before, and none of them if it is a symbolic link.
func walkExactly(path string, flags int) (int, error) {
	const step = unix.O_PATH | unix.O_NOFOLLOW | unix.O_DIRECTORY | unix.O_CLOEXEC
	path = filepath.Clean(path)
	start, rest := ".", path
	if filepath.IsAbs(path) {
		start, rest = "/", strings.TrimPrefix(path, "/")
	}
	dir, err := openat(unix.AT_FDCWD, start, step)
	for err == nil {
		name, tail, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		var next int
		if next, err = openat(dir, name, step); errors.Is(err, unix.ENOTDIR) && isLink(dir, name) {
			err = unix.ELOOP
		}
		_ = unix.Close(dir)
		dir, rest = next, tail
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	if rest == "" {
		rest = "."
	}
	if isLink(dir, rest) { // O_PATH would open the link itself
		return -1, unix.ELOOP
	}
	return openat(dir, rest, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC)
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func isLink(dir int, name string) bool {
	var stat unix.Stat_t
	return unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK
}

// statExactly returns what is at a path if no part of the path is a symbolic link.
func statExactly(path string) (os.FileInfo, error) {
	f, err := openExactly(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeSymlink != 0 { // put there while the path was walked
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return info, err
}
