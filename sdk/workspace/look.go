package workspace

import (
	"io/fs"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// InspectTree passes the tree at a path to fn. It does not follow a symlink at the end of the path.
func (w *Workspace) InspectTree(access guard.Access, path string, fn func(*Tree) error) error {
	t, err := w.openTargetAs(access, false, path)
	if isReadOnlyDir(err) {
		return w.inspectExact(access, path, fn)
	}
	if err != nil {
		return rootError(err, path)
	}
	defer t.closeHandles()
	tree, err := t.openTree()
	if err != nil {
		return err
	}
	if tree == nil {
		return &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	}
	return fn(tree)
}

// inspectExact is InspectTree for a single whitelisted file in a read-only directory.
func (w *Workspace) inspectExact(access guard.Access, path string, fn func(*Tree) error) error {
	abs, err := w.AbsPath(path)
	if err != nil {
		return err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return err
	}
	if !w.isWhitelisted(access, real) {
		return w.outsideRefusal(path, abs)
	}
	info, err := statNoSymlinks(real)
	if err != nil {
		return err
	}
	return fn(&Tree{Path: real, Info: info, exact: real})
}
