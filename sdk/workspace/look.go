package workspace

import (
	"io/fs"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// InspectTree opens the file or directory tree at a path and passes it to fn. It does not follow a symlink at the end
// of the path.
func (w *Workspace) InspectTree(access guard.AccessKind, path string, fn func(*FileTree) error) error {
	t, err := w.openTargetFollow(access, false, path)
	if isReadOnlyDirError(err) {
		return w.inspectWhitelistedFile(access, path, fn)
	}
	if err != nil {
		return explainRootChangeError(err, path)
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

// inspectWhitelistedFile is InspectTree for a whitelisted file whose directory can't be opened for changes.
func (w *Workspace) inspectWhitelistedFile(access guard.AccessKind, path string, fn func(*FileTree) error) error {
	abs, err := w.AbsPath(path)
	if err != nil {
		return err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return err
	}
	if !w.isWhitelisted(access, real) {
		return w.newOutsideRefusal(path, abs)
	}
	info, err := statNoSymlinks(real)
	if err != nil {
		return err
	}
	return fn(&FileTree{Path: real, Info: info, exact: real})
}
