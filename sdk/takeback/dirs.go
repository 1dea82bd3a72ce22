package takeback

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// dirs opens directories through the workspace, and holds on to the last ones: changes come in clusters.
type dirs struct {
	files *workspace.Workspace
	exact bool // no link on the way is followed: paths are older than what is there now
	held  [4]heldDir
	next  int
}

type heldDir struct {
	path string
	root *os.Root // nil where the policy opens nothing
}

// open opens the directory that a path is in; nil if the policy does not open it.
func (d *dirs) open(path string) (*os.Root, string) {
	if path == "" {
		return nil, ""
	}
	dir, name := filepath.Dir(path), filepath.Base(path)
	for i := range d.held {
		if d.held[i].path == dir {
			return d.held[i].root, name
		}
	}
	if d.exact {
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			return nil, name
		}
	}
	root, err := d.files.OpenRoot(dir)
	if err != nil {
		if d.exact || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, name // it may be made
		}
		root = nil
	}
	slot := &d.held[d.next]
	d.next = (d.next + 1) % len(d.held)
	slot.close()
	*slot = heldDir{dir, root}
	return root, name
}

// stat returns what is at a path, of itself if it is a link; nil for nothing, and where the policy opens nothing.
func (d *dirs) stat(path string) fs.FileInfo {
	dir, name := d.open(path)
	if dir != nil {
		return lstat(dir, name)
	}
	top, _ := d.open(filepath.Join(path, "x")) // it may be open, and what it is in not
	return lstat(top, ".")
}

// walk calls fn with everything in the workspace that can be looked at, until it fails.
func walk(files *workspace.Workspace, fn func(path string, info fs.FileInfo) error) error {
	top, err := files.OpenRoot(files.Dir())
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	return fs.WalkDir(top.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is closed is passed over
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		return fn(filepath.Join(files.Dir(), filepath.FromSlash(name)), info)
	})
}

// closed reports whether what is at a path can't be looked at, because a directory above it is closed.
func closed(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrPermission)
}

// forget closes all: their names may have come to mean others.
func (d *dirs) forget() {
	for i := range d.held {
		d.held[i].close()
		d.held[i] = heldDir{}
	}
}

func (h *heldDir) close() {
	if h.root != nil {
		_ = h.root.Close()
	}
}
