package workspace

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// HasProtected reports whether the workspace has protected files.
func (w *Workspace) HasProtected() bool {
	return len(w.policy.WorkspaceDeny)+len(w.policy.WorkspaceAsk) > 0
}

// WithoutProtection returns a workspace with the same files and no protected ones, for undo. Close it when done.
func (w *Workspace) WithoutProtection() (*Workspace, error) {
	if w.refused != nil {
		return NewRefusing(*w.refused), nil
	}
	p := w.policy
	p.WorkspaceDeny, p.WorkspaceAsk = nil, nil
	return OpenWorkspace(p, Options{ReadOnly: w.readOnly, StateDir: w.pending.dir})
}

// allowsOutside reports whether the policy allows changing a path outside the workspace.
func (w *Workspace) allowsOutside(path string) bool {
	return !w.policy.Restrict || matchesAny(w.writes, path) && w.withinConstraint(path)
}

// checkProtected refuses a change of a protected path. Paths that need approval are the guard's task, unknown content
// is checked by [Workspace.checkContent].
func (w *Workspace) checkProtected(access guard.Access, path, real string) error {
	hit, ok := w.inside.Match(real)
	switch {
	case ok && (hit.Judge == "gitlink" || hit.Judge == "" && !hit.Ask):
		return w.protectedError(path, hit)
	case ok && hit.Judge != "" && access == guard.Delete:
		return w.checkContent(path, real, nil)
	case access == guard.Delete:
		return w.checkTree(path, real, real, true)
	}
	first := real // topmost missing directory
	for on := filepath.Dir(first); len(on) > 1; on = filepath.Dir(on) {
		if _, err := os.Lstat(on); err == nil {
			break
		}
		first = on
	}
	hits, _, err := w.inside.Joined(filepath.Dir(first), filepath.Base(first))
	return w.refuseHits(path, hits, err, false)
}

// checkTree refuses to move a tree if that changes protected entry points. asked says that the guard has handled those
// that need approval.
func (w *Workspace) checkTree(path, at, as string, asked bool) error {
	hits, err := w.inside.Within(at, as)
	if hit, ok := w.inside.Match(as); ok && hit.Ask && hit.Judge == "" {
		asked = true
	}
	return w.refuseHits(path, hits, err, asked)
}

func (w *Workspace) refuseHits(path string, hits []protect.Hit, err error, asked bool) error {
	if err != nil {
		return newRefusal(path, guard.RuleProtect, fmt.Sprintf("access denied: protected files can't be looked for: %v", err))
	}
	for _, hit := range hits {
		if !hit.Ask || !asked {
			return w.protectedError(path, hit)
		}
	}
	return nil
}

// checkContent refuses content that changes how git uses a file. Nil stands for no file.
func (w *Workspace) checkContent(path, real string, after []byte) error {
	hit, ok := w.inside.Match(real)
	if !ok || hit.Judge == "" {
		return nil
	}
	before, err := readContent(real, false)
	if err == nil && hit.Unchanged(w.inside.Risks(hit, real, before), w.inside.Risks(hit, real, after)) {
		return nil
	}
	return w.protectedError(path, hit)
}

func (w *Workspace) protectedError(path string, hit protect.Hit) error {
	e := newRefusal(path, guard.RuleProtect, fmt.Sprintf("access denied: %s is protected", w.inside.Name(hit.Path)))
	e.Hint = hit.Remedy()
	if hit.Ask {
		e.Hint = "change it with exec and name it in protected_paths, which asks a person; or " + e.Hint
	}
	return e
}

// checkUnmoved returns an error if the directory of a target changed since the decision: a swapped symlink may lead to
// a protected directory of the workspace.
func (w *Workspace) checkUnmoved(t *changeTarget, real string) error {
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
