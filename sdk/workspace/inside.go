package workspace

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Protects reports whether something inside the workspace is protected.
func (w *Workspace) Protects() bool {
	return len(w.policy.WorkspaceDeny)+len(w.policy.WorkspaceAsk) > 0
}

// Restoring opens the same files with nothing protected inside, for putting back what was there. Close it when done.
func (w *Workspace) Restoring() (*Workspace, error) {
	if w.refused != nil {
		return Refusing(*w.refused), nil
	}
	p := w.policy
	p.WorkspaceDeny, p.WorkspaceAsk = nil, nil
	return Open(p, Options{ReadOnly: w.readOnly, StateDir: w.pending.dir})
}

// opensOutside reports whether the policy lets files outside the workspace be changed at a path.
func (w *Workspace) opensOutside(path string) bool {
	return !w.policy.Restrict || matches(w.writes, path) && w.constrained(path)
}

// held refuses a change of a protected path. It leaves what a person is to be asked about to the guard, which knows the
// same paths, and content that is not known yet to [Workspace.checkContent].
func (w *Workspace) held(access guard.Access, path, real string) error {
	hit, ok := w.inside.Match(real)
	switch {
	case ok && (hit.Judge == "gitlink" || hit.Judge == "" && !hit.Ask):
		return w.protectedError(path, hit)
	case ok && hit.Judge != "" && access == guard.Delete:
		return w.checkContent(path, real, nil)
	case access == guard.Delete:
		return w.checkTree(path, real, real, true)
	}
	first := real // of the directories that are missing
	for on := filepath.Dir(first); len(on) > 1; on = filepath.Dir(on) {
		if _, err := os.Lstat(on); err == nil {
			break
		}
		first = on
	}
	hits, _, err := w.inside.Joined(filepath.Dir(first), filepath.Base(first))
	return w.refuseHits(path, hits, err, false)
}

// checkTree refuses to move a tree to a path if that changes entry points. Asked says that the guard has seen those that
// a person is asked about.
func (w *Workspace) checkTree(path, at, as string, asked bool) error {
	hits, err := w.inside.Within(at, as)
	if hit, ok := w.inside.Match(as); ok && hit.Ask && hit.Judge == "" {
		asked = true
	}
	return w.refuseHits(path, hits, err, asked)
}

func (w *Workspace) refuseHits(path string, hits []protect.Hit, err error, asked bool) error {
	if err != nil {
		return refused(path, guard.RuleProtect, fmt.Sprintf("access denied: protected files can't be looked for: %v", err))
	}
	for _, hit := range hits {
		if !hit.Ask || !asked {
			return w.protectedError(path, hit)
		}
	}
	return nil
}

// checkContent refuses content of a file if git would act on it in another way than before. Nil stands for no file.
func (w *Workspace) checkContent(path, real string, after []byte) error {
	hit, ok := w.inside.Match(real)
	if !ok || hit.Judge == "" {
		return nil
	}
	before, err := content(real, false)
	if err == nil && hit.Unchanged(w.inside.Risks(hit, real, before), w.inside.Risks(hit, real, after)) {
		return nil
	}
	return w.protectedError(path, hit)
}

func (w *Workspace) protectedError(path string, hit protect.Hit) error {
	e := refused(path, guard.RuleProtect, fmt.Sprintf("access denied: %s is protected", w.inside.Name(hit.Path)))
	e.Hint = hit.Remedy()
	if hit.Ask {
		e.Hint = "change it with exec and name it in protected_paths, which asks a person; or " + e.Hint
	}
	return e
}

// still reports an error if the directory of a target is not the one that was decided on: a link that was swapped in
// leads to another directory of the workspace, which may be a protected one.
func (w *Workspace) still(t *target, real string) error {
	if t.handle == nil || !paths.Within(w.policy.Workspace, real) {
		return nil
	}
	opened, err := t.handle.Stat()
	if err != nil {
		return err
	}
	meant, err := statExactly(filepath.Dir(real))
	if err == nil && os.SameFile(opened, meant) {
		return nil
	}
	return fmt.Errorf("%s was replaced while it was in use", filepath.Dir(real))
}
