package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasHoles reports whether a file is sparse.
func hasHoles(info fs.FileInfo) bool {
	const block = 512 // unit of Blocks in bytes, on every file system
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Blocks*block < info.Size()
}

// nextDataRegion returns the next data region from an offset; from equals to if only a hole follows. On file systems
// without sparse files the whole rest is one region. The file offset is undefined afterwards.
func nextDataRegion(f *os.File, at, size int64) (from, to int64, err error) {
	if from, err = f.Seek(at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
		return size, size, nil
	}
	if errors.Is(err, unix.EINVAL) {
		return at, size, nil
	}
	if err != nil {
		return 0, 0, err
	}
	if from >= size {
		return size, size, nil // the file grew
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	return from, min(to, size), err
}

// reserveSpace allocates disk space for a growing file, where supported.
func reserveSpace(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return nil
}

// syncFileSystem syncs the file system of a directory, where supported and permitted.
func syncFileSystem(dir *os.File) (done bool, err error) {
	err = unix.Syncfs(int(dir.Fd()))
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM), err
}
