package workspace

import (
	"errors"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// queuedDir is a directory waiting to be read.
type queuedDir struct {
	in   *sharedDirHandle
	name string // in this directory
	path string // relative to the top of the scan
}

// sharedDirHandle is an open directory that its last user closes.
type sharedDirHandle struct {
	file  *os.File
	users atomic.Int64
}

func newSharedDirHandle(file *os.File, users int) *sharedDirHandle {
	s := &sharedDirHandle{file: file}
	s.users.Store(int64(users))
	return s
}

// newTopQueuedDir returns the directory where a scan begins.
func newTopQueuedDir(top *os.Root) (queuedDir, error) {
	f, err := top.Open(".")
	if err != nil {
		return queuedDir{}, err
	}
	return queuedDir{newSharedDirHandle(f, 1), ".", "."}, nil
}

// releaseParent closes the parent directory if no other queued directory uses it.
func (at queuedDir) releaseParent() {
	if at.in.users.Add(-1) == 0 {
		_ = at.in.file.Close()
	}
}

func (at queuedDir) openDir() (*os.File, error) {
	defer at.releaseParent()
	for {
		fd, err := unix.Openat(int(at.in.file.Fd()), at.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC,
			0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, os.NewSyscallError("open a directory", err)
		}
		return os.NewFile(uintptr(fd), at.name), nil
	}
}

// newQueuedSubdirs returns the selected subdirectories of the open directory d. It takes over d.
func (at queuedDir) newQueuedSubdirs(d *os.File, names []string) []queuedDir {
	here := newSharedDirHandle(d, len(names))
	found := make([]queuedDir, len(names))
	for i, name := range names {
		found[i] = queuedDir{here, name, path.Join(at.path, name)}
	}
	return found
}
