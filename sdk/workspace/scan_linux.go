package workspace

import (
	"errors"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// subdir is a directory to look into. It is opened by its last name, in the directory that it was found in, which is
// held open: one look for the kernel, where a path from the top takes one for each of its parts, and as safe, since a
// single name that is no link leads nowhere else.
type subdir struct {
	in   *shared
	name string // there
	path string // relative to where the scan began
}

// shared is an open directory that is closed when nobody uses it any more.
type shared struct {
	file  *os.File
	users atomic.Int64
}

func share(file *os.File, users int) *shared {
	s := &shared{file: file}
	s.users.Store(int64(users))
	return s
}

// topmost is where a scan begins.
func topmost(top *os.Root) (subdir, error) {
	f, err := top.Open(".")
	if err != nil {
		return subdir{}, err
	}
	return subdir{share(f, 1), ".", "."}, nil
}

// leave says that the directory is not looked into any more.
func (at subdir) leave() {
	if at.in.users.Add(-1) == 0 {
		_ = at.in.file.Close()
	}
}

func (at subdir) open() (*os.File, error) {
	defer at.leave()
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

// below are the directories in this one to look into. d is theirs from then on.
func (at subdir) below(d *os.File, names []string) []subdir {
	here := share(d, len(names))
	found := make([]subdir, len(names))
	for i, name := range names {
		found[i] = subdir{here, name, path.Join(at.path, name)}
	}
	return found
}
