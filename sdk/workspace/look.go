package workspace

import (
	"io/fs"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Look gives fn what is at a path as a tree. A link at the end of the path is not followed.
func (w *Workspace) Look(access guard.Access, path string, fn func(*Tree) error) error {
	t, err := w.targetAs(access, false, path)
	if closed(err) {
		return w.lookExactly(access, path, fn)
	}
	if err != nil {
		return notItself(err, path)
	}
	defer t.close()
	tree, err := t.tree()
	if err != nil {
		return err
	}
	if tree == nil {
		return &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	}
	return fn(tree)
}

// lookExactly is Look for a single whitelisted file whose directory is closed.
func (w *Workspace) lookExactly(access guard.Access, path string, fn func(*Tree) error) error {
	abs, err := w.Abs(path)
	if err != nil {
		return err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return err
	}
	if !w.whitelisted(access, real) {
		return w.refusal(path, abs)
	}
	info, err := statExactly(real)
	if err != nil {
		return err
	}
	return fn(&Tree{Path: real, Info: info, exact: real})
}
