package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// Child is the request for the policy of a child session. Its zero value inherits the parent's policy unchanged.
type Child struct {
	Workspace string   // directory inside the parent's workspace, absolute or relative to it; "" inherits
	Paths     []string // directories that confine the child, absolute or relative to the workspace; nil inherits
}

// Narrow returns the policy of a child session. A child never gets more than p: an error names a directory that is
// outside the parent's.
func (p *Policy) Narrow(child Child) (*Policy, error) {
	out := *p
	out.guard = cloneGuard(p.guard)
	if err := out.narrowWorkspace(p, child.Workspace); err != nil {
		return nil, fmt.Errorf("agent %q: workspace %s: %w", p.agent, child.Workspace, err)
	}
	if err := out.narrowPaths(p, child.Paths); err != nil {
		return nil, fmt.Errorf("agent %q: %w", p.agent, err)
	}
	return out.seal()
}

func (p *Policy) narrowWorkspace(parent *Policy, workspace string) error {
	if workspace == "" {
		return nil
	}
	resolved, err := parent.resolveWithin(workspace)
	if err != nil {
		return err
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return errors.New("not a directory; a child session needs one that exists")
	}
	p.guard.Workspace = resolved
	return parent.checkWorkspace(resolved, resolved)
}

func (p *Policy) narrowPaths(parent *Policy, dirs []string) error {
	if dirs == nil {
		return nil
	}
	if len(dirs) == 0 {
		return errors.New("an empty list of paths would confine the child to nothing; leave it out or name a directory")
	}
	p.guard.Paths = nil
	for _, dir := range dirs {
		resolved, err := parent.resolveWithin(dir)
		if err != nil {
			return fmt.Errorf("path %s: %w", dir, err)
		}
		p.guard.Paths = append(p.guard.Paths, resolved)
	}
	return nil
}

// resolveWithin resolves a directory, which must be inside the workspace and the paths of the policy.
func (p *Policy) resolveWithin(path string) (string, error) {
	g := p.guard
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.Workspace, path)
	}
	resolved, err := resolveExisting(path)
	if err != nil {
		return "", err
	}
	if g.Restrict && !paths.Within(g.Workspace, resolved) || len(g.Paths) > 0 && !paths.WithinAny(g.Paths, resolved) {
		return "", fmt.Errorf("directory %s is wider than the parent's", resolved)
	}
	return resolved, nil
}
