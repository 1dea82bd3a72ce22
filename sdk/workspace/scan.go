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

// ScanDirs reads a directory and those below that visit selects, concurrently. visit is called from several goroutines,
// once per directory: dir is its slash-separated relative name ("." for the top), entries are unsorted. It returns the
// names of subdirectories to read; symlinks are never followed. Inaccessible directories are skipped.
func (w *Workspace) ScanDirs(ctx context.Context, path string, visit func(dir string, entries []fs.DirEntry) (into []string,
	err error)) error {
	return w.withPlace(guard.List, path, func(at pathPlace) error {
		tree, done, err := at.openTree()
		if err != nil {
			return err
		}
		defer done()
		if !tree.Info.IsDir() {
			return &Error{Code: NotDirectory, Path: path}
		}
		first, err := scanTop(tree.dir)
		if err != nil {
			return err
		}
		s := &dirScan{visit: visit, queue: []subdir{first}}
		s.more = sync.NewCond(&s.mu)
		defer context.AfterFunc(ctx, func() { s.setError(context.Cause(ctx)) })()
		var workers sync.WaitGroup
		for range max(2, min(runtime.GOMAXPROCS(0), 8)) {
			workers.Go(s.processQueue)
		}
		workers.Wait()
		s.mu.Lock() // the context may have ended
		defer s.mu.Unlock()
		for _, left := range s.queue {
			left.release()
		}
		return s.err
	})
}

// dirScan is one ScanDirs.
type dirScan struct {
	visit func(string, []fs.DirEntry) ([]string, error)

	mu      sync.Mutex
	more    *sync.Cond
	queue   []subdir
	working int
	err     error
}

func (s *dirScan) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.more.Broadcast()
}

// processQueue processes directories until none are left. The newest comes first, so that few are open at a time.
func (s *dirScan) processQueue() {
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
		found, err := s.readDir(next)
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

// readDir reads a directory and returns its selected subdirectories. Inaccessible ones are skipped.
func (s *dirScan) readDir(at subdir) ([]subdir, error) {
	d, err := at.openSelf()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // inaccessible or deleted
	}
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
	return at.subdirs(d, into), nil
}
