package workspace

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
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

// held refuses a change of what is protected inside the workspace. What a person is to be asked about is not held: who
// has asked is not known here.
func (w *Workspace) held(access guard.Access, path, real string) error {
	at := real
	hit, ok := w.inside.Match(at)
	if !ok && access == guard.Delete { // to delete a directory is to delete what is in it
		found, err := w.inside.Find(real, false)
		if err != nil {
			return err
		}
		if ok = len(found) > 0; ok {
			at = found[0]
			hit, ok = w.inside.Match(at)
		}
	}
	if !ok || hit.Ask {
		return nil
	}
	e := refused(path, guard.RuleProtect, fmt.Sprintf("access denied: %s is protected", w.inside.Name(at)))
	e.Hint = fmt.Sprintf("add %q to workspace.protect.allow", hit.Entry)
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
