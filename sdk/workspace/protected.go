package workspace

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// resolvePaths resolves symlinks in the existing parts of paths.
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

// isProtected reports whether the policy's Protected list forbids access to a resolved path, or deleting a directory
// above a protected path. It overrides whitelists.
func (w *Workspace) isProtected(access guard.AccessKind, real string) bool {
	if !w.policy.Restrict || paths.WithinAny(w.opened, real) || paths.Within(w.policy.Workspace, real) {
		return false
	}
	if paths.WithinAny(w.closed, real) {
		return true
	}
	return access == guard.Delete && w.containsProtectedPath(real)
}

// hasProtectedBelow reports whether an allowed directory contains protected paths. Paths in it must then be resolved
// before use.
func (w *Workspace) hasProtectedBelow(r *allowedRoot) bool {
	if !w.policy.Restrict || r.dir == w.policy.Workspace {
		return false // the workspace itself has none of these
	}
	return w.containsProtectedPath(r.dir)
}

// containsProtectedPath reports whether dir is or contains a path of the policy's Protected list.
func (w *Workspace) containsProtectedPath(dir string) bool {
	return slices.ContainsFunc(w.closed, func(path string) bool { return paths.Within(dir, path) })
}
