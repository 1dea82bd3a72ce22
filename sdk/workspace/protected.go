package workspace

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// resolvePaths resolves the symlinks of paths, as far as they exist.
func (w *Workspace) resolvePaths(named []string) ([]string, error) {
	out := make([]string, 0, len(named))
	for _, path := range named {
		real, err := paths.Resolve(path)
		if errors.Is(err, fs.ErrPermission) {
			real, err = path, nil // inaccessible, by other names too
		}
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	return out, nil
}

// isProtected reports whether no whitelist may open a resolved path. Deleting a directory deletes protected files in
// it.
func (w *Workspace) isProtected(access guard.Access, real string) bool {
	if !w.policy.Restrict || paths.WithinAny(w.opened, real) || paths.Within(w.policy.Workspace, real) {
		return false
	}
	if paths.WithinAny(w.closed, real) {
		return true
	}
	return access == guard.Delete && w.hasClosedBelow(real)
}

// containsProtected reports whether protected files exist below an open directory, so that paths in it must be resolved
// first.
func (w *Workspace) containsProtected(r *openRoot) bool {
	if !w.policy.Restrict || r.dir == w.policy.Workspace {
		return false // the workspace itself has none of these
	}
	return w.hasClosedBelow(r.dir)
}

// hasClosedBelow reports whether dir is, or contains, a protected path.
func (w *Workspace) hasClosedBelow(dir string) bool {
	return slices.ContainsFunc(w.closed, func(path string) bool { return paths.Within(dir, path) })
}
