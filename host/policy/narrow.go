package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	if child.Workspace != "" {
		out.narrowing.Workspace = out.guard.Workspace
	}
	if child.Paths != nil {
		out.narrowing.Paths = out.guard.Paths
	}
	return out.seal()
}

// Narrowing returns all that Narrow has applied on the way to this policy, with resolved paths. Applied to the agent's
// own policy it gives this one again.
func (p *Policy) Narrowing() Child { return p.narrowing }

// NarrowLike returns the policy of another agent's session that works for one with the policy like: confined to the same
// directories as that one was narrowed to.
func (p *Policy) NarrowLike(like *Policy) (*Policy, error) {
	dirs := like.narrowing.dirs()
	if dirs == nil {
		return p, nil
	}
	var child Child
	for _, dir := range dirs {
		if _, err := p.resolveWithin(dir); err == nil {
			child.Paths = append(child.Paths, dir)
		} else if paths.Within(dir, p.guard.Workspace) {
			child.Paths = append(child.Paths, p.guard.Workspace)
		}
	}
	if child.Paths == nil {
		return nil, fmt.Errorf("this session is confined to %s, and agent %q works elsewhere", strings.Join(dirs, ", "), p.agent)
	}
	if slices.Contains(child.Paths, like.narrowing.Workspace) {
		child.Workspace = like.narrowing.Workspace
	}
	return p.Narrow(child)
}

// Covers reports whether a session narrowed by c reaches all that one narrowed by other does.
func (c Child) Covers(other Child) bool {
	mine, theirs := c.dirs(), other.dirs()
	return mine == nil || theirs != nil && !slices.ContainsFunc(theirs, func(dir string) bool {
		return !paths.WithinAny(mine, dir)
	})
}

// dirs are the directories that confine a child; nil for none.
func (c Child) dirs() []string {
	if c.Paths == nil && c.Workspace != "" {
		return []string{c.Workspace}
	}
	return c.Paths
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
