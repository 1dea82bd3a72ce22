package workspace

import (
	"errors"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// subdir is a directory to scan.
type subdir struct {
	in   *sharedDir
	name string // there
	path string // relative to where the scan began
}

// sharedDir is an open directory that is closed by its last user.
type sharedDir struct {
	file  *os.File
	users atomic.Int64
}

func newSharedDir(file *os.File, users int) *sharedDir {
	s := &sharedDir{file: file}
	s.users.Store(int64(users))
	return s
}

// scanTop returns the directory where a scan begins.
func scanTop(top *os.Root) (subdir, error) {
	f, err := top.Open(".")
	if err != nil {
		return subdir{}, err
	}
	return subdir{newSharedDir(f, 1), ".", "."}, nil
}

// release ends the use of the parent directory.
func (at subdir) release() {
	if at.in.users.Add(-1) == 0 {
		_ = at.in.file.Close()
	}
}

func (at subdir) openSelf() (*os.File, error) {
	defer at.release()
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

// subdirs returns the selected subdirectories. It takes over d.
func (at subdir) subdirs(d *os.File, names []string) []subdir {
	here := newSharedDir(d, len(names))
	found := make([]subdir, len(names))
	for i, name := range names {
		found[i] = subdir{here, name, path.Join(at.path, name)}
	}
	return found
}
