package workspace

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// dirOnlyFlag makes open fail for a file that is not a directory.
const dirOnlyFlag = unix.O_DIRECTORY

// openNoSymlinks opens a path and fails if any component is a symlink.
func openNoSymlinks(path string, flags int) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) { // an old kernel, or a sandbox that denies openat2
		fd, err = openByComponents(path, flags)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openByComponents opens a path component by component and fails at a symlink.
func openByComponents(path string, flags int) (int, error) {
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
		if next, err = openat(dir, name, step); errors.Is(err, unix.ENOTDIR) && isSymlink(dir, name) {
			err = unix.ELOOP
		}
		_ = unix.Close(dir)
		dir, rest = next, tail
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	rest = cmp.Or(rest, ".")
	if isSymlink(dir, rest) { // O_PATH would open the link itself
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

func isSymlink(dir int, name string) bool {
	var stat unix.Stat_t
	return unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK
}

// statNoSymlinks describes the file at a path and fails if any component is a symlink.
func statNoSymlinks(path string) (os.FileInfo, error) {
	f, err := openNoSymlinks(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeSymlink != 0 { // a symlink was created meanwhile
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return info, err
}
