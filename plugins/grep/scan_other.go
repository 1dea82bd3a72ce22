//go:build !linux

package main

import (
	"context"
	"io/fs"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// scan is Workspace.Scan, which is quick enough here.
func scan(ctx context.Context, w *workspace.Workspace, top string, visit func(dir string, entries []fs.DirEntry) (into []string, err error)) error {
	return w.Scan(ctx, top, visit)
}
