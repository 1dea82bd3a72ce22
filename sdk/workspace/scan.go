package workspace

import (
	"context"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Scan reads a directory and those below it that visit chooses, several at a time. visit is called from several
// goroutines, for each directory once: dir is its slash-separated name relative to where the scan began ("." for that),
// and entries are in no order. It returns the names of the entries to go into; links are never followed. Directories that
// can't be opened, or are gone, are left out.
func (w *Workspace) Scan(ctx context.Context, path string, visit func(dir string, entries []fs.DirEntry) (into []string, err error)) error {
	return w.use(guard.List, path, func(at place) error {
		tree, done, err := at.tree()
		if err != nil {
			return err
		}
		defer done()
		if !tree.Info.IsDir() {
			return &NotDirectory{path}
		}
		s := &scan{top: tree.dir, visit: visit, queue: []string{"."}}
		s.more = sync.NewCond(&s.mu)
		defer context.AfterFunc(ctx, func() { s.fail(context.Cause(ctx)) })()
		var workers sync.WaitGroup
		for range max(2, min(runtime.GOMAXPROCS(0), 8)) {
			workers.Go(s.work)
		}
		workers.Wait()
		return s.err
	})
}

// NotDirectory is the error for something else where a directory is needed.
type NotDirectory struct{ Path string }

func (e *NotDirectory) Error() string { return e.Path + " is not a directory" }

// scan is one Scan.
type scan struct {
	top   *os.Root
	visit func(string, []fs.DirEntry) ([]string, error)

	mu      sync.Mutex
	more    *sync.Cond
	queue   []string
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

// work takes directories until there are none left and nobody can add any.
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
		dir := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.working++
		s.mu.Unlock()
		into, err := s.one(dir)
		s.mu.Lock()
		s.working--
		for _, name := range into {
			s.queue = append(s.queue, path.Join(dir, name))
		}
		if err != nil && s.err == nil {
			s.err = err
		}
		s.more.Broadcast()
	}
}

// one reads a directory. That it is opened below the top, wherever its name leads by then, keeps it inside.
func (s *scan) one(dir string) ([]string, error) {
	opened, err := place{dir: s.top, name: dir}.openDir()
	if err != nil {
		return nil, nil //nolint:nilerr // closed to us, or gone
	}
	d, err := entries(opened)
	_ = opened.Close()
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	all, err := d.ReadDir(-1)
	if err != nil && len(all) == 0 {
		return nil, nil //nolint:nilerr // the same
	}
	return s.visit(dir, all)
}
