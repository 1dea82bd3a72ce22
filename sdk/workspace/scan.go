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

// Scan reads a directory and those below it that visit chooses, several at a time. visit is called from several
// goroutines, for each directory once: dir is its slash-separated name relative to where the scan began ("." for
// that), and entries are in no order. It returns the names of the entries to go into; links are never followed.
// Directories that can't be opened, or are gone, are left out.
func (w *Workspace) Scan(ctx context.Context, path string, visit func(dir string, entries []fs.DirEntry) (into []string, err error)) error {
	return w.use(guard.List, path, func(at place) error {
		tree, done, err := at.tree()
		if err != nil {
			return err
		}
		defer done()
		if !tree.Info.IsDir() {
			return &Error{Code: NotDirectory, Path: path}
		}
		first, err := topmost(tree.dir)
		if err != nil {
			return err
		}
		s := &scan{visit: visit, queue: []subdir{first}}
		s.more = sync.NewCond(&s.mu)
		defer context.AfterFunc(ctx, func() { s.fail(context.Cause(ctx)) })()
		var workers sync.WaitGroup
		for range max(2, min(runtime.GOMAXPROCS(0), 8)) {
			workers.Go(s.work)
		}
		workers.Wait()
		s.mu.Lock() // the context may end just now
		defer s.mu.Unlock()
		for _, left := range s.queue {
			left.leave()
		}
		return s.err
	})
}

// scan is one Scan.
type scan struct {
	visit func(string, []fs.DirEntry) ([]string, error)

	mu      sync.Mutex
	more    *sync.Cond
	queue   []subdir
	working int
	err     error
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.more.Broadcast()
}

// work takes directories until there are none left and nobody can add any. The last that was found comes first, so
// that few are open at a time.
func (s *scan) work() {
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
func (s *scan) look(at subdir) ([]subdir, error) {
	d, err := at.open()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // closed to us, or gone
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
	return at.below(d, into), nil
}
