package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasHoles reports whether a file takes less room on the disk than it is long.
func hasHoles(info fs.FileInfo) bool {
	const block = 512 // bytes, whatever the file system's own are
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Blocks*block < info.Size()
}

// nextData finds the next part of a file, from an offset on, that is no hole; from and to are the same where there is
// none. A file system that knows of no holes has one part. Where the file is read next is undefined after that.
func nextData(f *os.File, at, size int64) (from, to int64, err error) {
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
		return size, size, nil // it has grown
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	return from, min(to, size), err
}

// reserve has room on the disk for a file that is to grow. A file system that can't promise any is no reason not to
// try.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return nil
}

// flushAll has the file system that a directory is on on the disk, unless the kernel or a sandbox does not do that.
func flushAll(dir *os.File) (done bool, err error) {
	err = unix.Syncfs(int(dir.Fd()))
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM), err
}
