package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// HasProtectedFiles reports whether the policy protects files in the workspace.
func (w *Workspace) HasProtectedFiles() bool {
	return len(w.policy.WorkspaceDeny)+len(w.policy.WorkspaceAsk) > 0
}

// OpenWithoutProtection opens the same workspace without protected files, for undo. Close it when done.
func (w *Workspace) OpenWithoutProtection() (*Workspace, error) {
	if w.refused != nil {
		return NewRefusingWorkspace(*w.refused), nil
	}
	p := w.policy
	p.WorkspaceDeny, p.WorkspaceAsk = nil, nil
	return OpenWorkspace(p, Options{ReadOnly: w.readOnly, StateDir: w.pending.dir})
}

// refuseProtectedChange returns an error if a change affects a protected path. The guard handles paths that need
// approval, and [Workspace.refuseProtectedContent] files that are protected by content.
func (w *Workspace) refuseProtectedChange(access guard.AccessKind, path, real string) error {
	hit, ok := w.inside.Match(real)
	switch {
	case ok && (hit.ContentRule == "gitlink" || hit.ContentRule == "" && !hit.Ask):
		return w.newProtectedError(path, hit)
	case ok && hit.ContentRule != "" && access == guard.Delete:
		return w.refuseProtectedContent(path, real, nil)
	case access == guard.Delete:
		return w.refuseProtectedTree(path, real, real, true)
	}
	first := real // topmost missing directory
	for on := filepath.Dir(first); len(on) > 1; on = filepath.Dir(on) {
		if _, err := os.Lstat(on); err == nil {
			break
		}
		first = on
	}
	hits, _, err := w.inside.FindProtectedByNewName(filepath.Dir(first), filepath.Base(first), "")
	return w.refuseProtectedHits(path, hits, err, false)
}

// refuseProtectedTree returns an error if a move of the tree from at to as would change protected files. asked reports
// whether the guard has asked for approval.
func (w *Workspace) refuseProtectedTree(path, at, as string, asked bool) error {
	hits, err := w.inside.FindProtectedInTree(at, as)
	if hit, ok := w.inside.Match(as); ok && hit.Ask && hit.ContentRule == "" {
		asked = true
	}
	return w.refuseProtectedHits(path, hits, err, asked)
}

func (w *Workspace) refuseProtectedHits(path string, hits []protect.ProtectedPath, err error, asked bool) error {
	if err != nil {
		return newRefusal(path, guard.RuleProtect, fmt.Sprintf("access denied: protected files can't be looked for: %v", err))
	}
	for _, hit := range hits {
		if !hit.Ask || !asked {
			return w.newProtectedError(path, hit)
		}
	}
	return nil
}

// refuseProtectedContent returns an error if new content changes how git uses a file. The content nil stands for a
// deletion.
func (w *Workspace) refuseProtectedContent(path, real string, after []byte) error {
	hit, ok := w.inside.Match(real)
	if !ok || hit.ContentRule == "" {
		return nil
	}
	before, err := readContentOrNil(real, false)
	if err == nil && hit.FindChangedRisk(w.inside.FindRiskyLines(hit, real, before), w.inside.FindRiskyLines(hit, real, after)) == "" {
		return nil
	}
	return w.newProtectedError(path, hit)
}

func (w *Workspace) newProtectedError(path string, hit protect.ProtectedPath) error {
	e := newRefusal(path, guard.RuleProtect, fmt.Sprintf("access denied: %s is protected", w.inside.RelativeName(hit.Path)))
	e.Hint = hit.Remedy()
	if hit.Ask {
		e.Hint = "change it with exec and name it in protected_paths, which asks a person; or " + e.Hint
	}
	return e
}

// checkDirUnchanged returns an error if the directory of a target was replaced after the policy decision. A swapped
// symlink may lead to a protected directory of the workspace.
func (w *Workspace) checkDirUnchanged(t *changeTarget, real string) error {
	if t.handle == nil || !paths.Within(w.policy.Workspace, real) {
		return nil
	}
	opened, err := t.handle.Stat()
	if err != nil {
		return err
	}
	meant, err := statNoSymlinks(filepath.Dir(real))
	if err == nil && os.SameFile(opened, meant) {
		return nil
	}
	return fmt.Errorf("%s was replaced while it was in use", filepath.Dir(real))
}

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
