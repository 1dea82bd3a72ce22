package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// scan is Workspace.Scan for trees that are gone through before each search. Each directory is opened by its last name, in the
// directory that it was found in, which is held open: one look for the kernel, where a path from the top takes one for each of
// its parts, and as safe, since a single name that is no link leads nowhere else.
func scan(ctx context.Context, w *workspace.Workspace, top string, visit func(dir string, entries []fs.DirEntry) (into []string, err error)) error {
	info, err := w.Stat(top)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &workspace.NotDirectory{Path: top}
	}
	first, err := w.OpenDir(top)
	if err != nil {
		return err
	}
	s := &scanning{visit: visit}
	s.more = sync.NewCond(&s.mu)
	s.queue = []subdir{{hold(first, 1), ".", "."}}
	defer context.AfterFunc(ctx, func() { s.fail(context.Cause(ctx)) })()
	var workers sync.WaitGroup
	for range max(2, min(runtime.GOMAXPROCS(0), 8)) {
		workers.Go(s.work)
	}
	workers.Wait()
	for _, left := range s.queue {
		left.in.release()
	}
	return s.err
}

// held is an open directory that is closed when nobody uses it any more.
type held struct {
	file  *os.File
	users atomic.Int64
}

func hold(file *os.File, users int) *held {
	h := &held{file: file}
	h.users.Store(int64(users))
	return h
}

func (h *held) release() {
	if h.users.Add(-1) == 0 {
		_ = h.file.Close()
	}
}

// subdir is a directory to look into.
type subdir struct {
	in   *held  // what it is in
	name string // there
	path string // relative to where the scan began
}

// scanning is one scan.
type scanning struct {
	visit func(string, []fs.DirEntry) ([]string, error)

	mu      sync.Mutex
	more    *sync.Cond
	queue   []subdir
	working int
	err     error
}

func (s *scanning) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.more.Broadcast()
}

// work takes directories until there are none left and nobody can add any. The last that was found comes first, so that few
// are open at a time.
func (s *scanning) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.working > 0 && s.err == nil {
			s.more.Wait()
		}
		if s.err != nil || len(s.queue) == 0 {
			s.more.Broadcast()
			return
		}
		next := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.working++
		s.mu.Unlock()
		found, err := s.look(next)
		s.mu.Lock()
		s.working--
		s.queue = append(s.queue, found...)
		if err != nil && s.err == nil {
			s.err = err
		}
		if len(found) > 0 || s.working == 0 || s.err != nil {
			s.more.Broadcast()
		}
	}
}

// look reads a directory, and returns those in it to look into. One that is closed to us, or gone, is left out.
func (s *scanning) look(at subdir) ([]subdir, error) {
	fd, err := unix.Openat(int(at.in.file.Fd()), at.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Openat(int(at.in.file.Fd()), at.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	at.in.release()
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nil, os.NewSyscallError("open a directory", err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // closed to us, or gone
	}
	d := os.NewFile(uintptr(fd), at.name)
	entries, err := d.ReadDir(-1)
	if err != nil && len(entries) == 0 {
		_ = d.Close()
		return nil, nil //nolint:nilerr // the same
	}
	into, err := s.visit(at.path, entries)
	if err != nil || len(into) == 0 {
		_ = d.Close()
		return nil, err
	}
	here := hold(d, len(into))
	found := make([]subdir, len(into))
	for i, name := range into {
		found[i] = subdir{here, name, path.Join(at.path, name)}
	}
	return found, nil
}
