package workspace

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// resolved resolves the symbolic links of the named paths, as far as they exist.
func (w *Workspace) resolved(named []string) ([]string, error) {
	out := make([]string, 0, len(named))
	for _, path := range named {
		real, err := paths.Resolve(path)
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
	if !w.policy.Restrict || paths.WithinAny(w.opened, real) || paths.Within(w.policy.Workspace, real) {
		return false
	}
	if paths.WithinAny(w.closed, real) {
		return true
	}
	return access == guard.Delete && w.closedBelow(real)
}

// guarded reports whether there is something protected below an open directory, so that where a path in it really
// leads has to be looked at before it is opened.
func (w *Workspace) guarded(r *root) bool {
	if !w.policy.Restrict || r.dir == w.policy.Workspace {
		return false // what is in the workspace is not protected
	}
	return w.closedBelow(r.dir)
}

// closedBelow reports whether something protected is dir or lies below it.
func (w *Workspace) closedBelow(dir string) bool {
	return slices.ContainsFunc(w.closed, func(path string) bool { return paths.Within(dir, path) })
}
