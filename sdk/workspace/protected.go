package workspace

import (
	"errors"
	"io/fs"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// resolved resolves the symbolic links of paths, as far as they exist.
func (w *Workspace) resolved(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, path := range paths {
		real, err := resolve(path)
		if errors.Is(err, fs.ErrPermission) {
			real, err = path, nil // closed to this process, so it can't be reached by another name either
		}
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	return out, nil
}

// protected reports whether a resolved path is one that no whitelist opens. To delete a directory is to delete what is
// protected in it.
func (w *Workspace) protected(access guard.Access, real string) bool {
	if !w.policy.Restrict || covers(w.opened, real) || covers([]string{w.policy.Workspace}, real) {
		return false
	}
	if covers(w.closed, real) {
		return true
	}
	if access != guard.Delete {
		return false
	}
	for _, path := range w.closed {
		if _, above := below(real, path); above {
			return true
		}
	}
	return false
}

// guarded reports whether there is something protected below an open directory, so that where a path in it really leads has
// to be looked at before it is opened.
func (w *Workspace) guarded(r *root) bool {
	if !w.policy.Restrict || r.dir == w.policy.Workspace {
		return false // what is in the workspace is not protected
	}
	for _, path := range w.closed {
		if _, ok := below(r.dir, path); ok {
			return true
		}
	}
	return false
}

// covers reports whether a path is one of some directories, or below one.
func covers(dirs []string, path string) bool {
	for _, dir := range dirs {
		if _, ok := below(dir, path); ok {
			return true
		}
	}
	return false
}
