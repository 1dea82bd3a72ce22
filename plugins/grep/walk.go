package main

import (
	"context"
	"io/fs"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// walk calls found with the name of each file that a query is about, and counts what it leaves alone. left, which may
// be nil, is told of all that is left alone. Both are called from several goroutines.
func (q *query) walk(ctx context.Context, w *workspace.Workspace, path string, t *tally, found func(name string),
	left func(name string, dir bool)) error {
	var count atomic.Int64
	tree := tree{
		w: w, path: path, recursive: q.recursive, hidden: q.hidden, ignore: q.ignore,
		found: func(name string, e fs.DirEntry) {
			if e.Type().IsRegular() && q.wants(name) {
				found(name)
			}
		},
		ignored: func(name string, e fs.DirEntry) {
			if e.IsDir() || (e.Type().IsRegular() && q.wants(name)) {
				count.Add(1)
			}
			if left != nil {
				left(name, e.IsDir())
			}
		},
		git: func(name string) {
			if left != nil {
				left(name, true)
			}
		},
	}
	err := tree.walk(ctx)
	t.ignored, t.notes = int(count.Load()), tree.notes()
	if err == nil {
		t.closed = tree.pending
	}
	return err
}
