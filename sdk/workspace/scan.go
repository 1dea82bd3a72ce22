package workspace

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"syscall"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ScanDirs concurrently reads a directory and the subdirectories that visit selects. visit is called once per
// directory, from several goroutines. Its dir is relative to path and slash-separated ("." for path itself); its
// entries are unsorted. It returns the names of subdirectories to read. ScanDirs never follows symlinks and skips
// inaccessible directories.
func (w *Workspace) ScanDirs(ctx context.Context, path string, visit func(dir string, entries []fs.DirEntry) (into []string,
	err error)) error {
	return w.withAllowedTarget(guard.List, path, func(at accessTarget) error {
		tree, done, err := at.openTree()
		if err != nil {
			return err
		}
		defer done()
		if !tree.Info.IsDir() {
			return &Error{Code: NotDirectory, Path: path}
		}
		first, err := newTopQueuedDir(tree.dir)
		if err != nil {
			return err
		}
		s := &dirScanner{visit: visit, queue: []queuedDir{first}}
		s.more = sync.NewCond(&s.mu)
		defer context.AfterFunc(ctx, func() { s.stopWithError(context.Cause(ctx)) })()
		var workers sync.WaitGroup
		for range max(2, min(runtime.GOMAXPROCS(0), 8)) {
			workers.Go(s.readQueuedDirs)
		}
		workers.Wait()
		s.mu.Lock() // the context may have ended
		defer s.mu.Unlock()
		for _, left := range s.queue {
			left.releaseParent()
		}
		if s.err == nil {
			s.err = context.Cause(ctx) // visit may have left something out
		}
		return s.err
	})
}

// dirScanner is the state of one ScanDirs call.
type dirScanner struct {
	visit func(string, []fs.DirEntry) ([]string, error)

	mu      sync.Mutex
	more    *sync.Cond
	queue   []queuedDir
	working int
	err     error
}

func (s *dirScanner) stopWithError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.more.Broadcast()
}

// readQueuedDirs reads queued directories until none are left. It takes the newest first, so that few directories are
// open.
func (s *dirScanner) readQueuedDirs() {
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
		found, err := s.visitDir(next)
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

// visitDir reads a directory and returns its selected subdirectories. It skips an inaccessible directory.
func (s *dirScanner) visitDir(at queuedDir) ([]queuedDir, error) {
	d, err := at.openDir()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // inaccessible or deleted
	}
	entries, err := d.ReadDir(-1)
	if err != nil && len(entries) == 0 {
		_ = d.Close()
		return nil, nil //nolint:nilerr // inaccessible or deleted
	}
	into, err := s.visit(at.path, entries)
	if err != nil || len(into) == 0 {
		_ = d.Close()
		return nil, err
	}
	return at.newQueuedSubdirs(d, into), nil
}
