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

// Restriction restricts the paths and tools of a child session. The zero value restricts nothing beyond the parent's
// policy.
type Restriction struct {
	Workspace string     `json:"workspace,omitempty"` // directory in the parent's workspace, absolute or relative; "" inherits
	Paths     []string   `json:"paths,omitempty"`     // allowed directories, absolute or relative to the workspace; nil inherits
	Tools     [][]string `json:"tools,omitempty"`     // lists of names and globs; a tool must match each list
}

// NewRestriction returns the restriction to a directory and to a list of tools; "" and nil restrict nothing.
func NewRestriction(dir string, tools []string) (r Restriction) {
	if dir != "" {
		r.Workspace, r.Paths = dir, []string{dir}
	}
	if tools != nil {
		r.Tools = [][]string{tools}
	}
	return r
}

// NarrowPolicy returns the policy of a child session, which never allows more than p. A directory outside the parent's
// directories is an error.
func (p *Policy) NarrowPolicy(child Restriction) (*Policy, error) {
	out := *p
	out.guard = cloneGuardPolicy(p.guard)
	if err := out.narrowWorkspace(p, child.Workspace); err != nil {
		return nil, fmt.Errorf("agent %q: workspace %s: %w", p.agent, child.Workspace, err)
	}
	if err := out.narrowPaths(p, child.Paths); err != nil {
		return nil, fmt.Errorf("agent %q: %w", p.agent, err)
	}
	if err := out.narrowTools(child.Tools); err != nil {
		return nil, fmt.Errorf("agent %q: %w", p.agent, err)
	}
	if child.Workspace != "" {
		out.narrowing.Workspace = out.guard.Workspace
	}
	if child.Paths != nil {
		out.narrowing.Paths = out.guard.Paths
	}
	return out.setDigest()
}

// Restriction returns the restrictions of this policy relative to the agent's own policy, with resolved paths.
func (p *Policy) Restriction() Restriction { return p.narrowing }

// WithRestrictionsOf returns p with the restrictions of like.
func (p *Policy) WithRestrictionsOf(like *Policy) (*Policy, error) {
	dirs := like.narrowing.allowedDirs()
	child := Restriction{Tools: like.narrowing.Tools}
	for _, dir := range dirs {
		if _, err := p.resolveWithin(dir); err == nil {
			child.Paths = append(child.Paths, dir)
		} else if paths.Within(dir, p.guard.Workspace) {
			child.Paths = append(child.Paths, p.guard.Workspace)
		}
	}
	if dirs != nil && child.Paths == nil {
		return nil, fmt.Errorf("this session is confined to %s, and agent %q works elsewhere", strings.Join(dirs, ", "), p.agent)
	}
	if slices.Contains(child.Paths, like.narrowing.Workspace) {
		child.Workspace = like.narrowing.Workspace
	}
	return p.NarrowPolicy(child)
}

// Includes reports whether c allows every directory and tool that other allows. It compares lists of tools literally.
func (c Restriction) Includes(other Restriction) bool {
	for _, list := range c.Tools {
		if !slices.ContainsFunc(other.Tools, func(same []string) bool { return slices.Equal(list, same) }) {
			return false
		}
	}
	mine, theirs := c.allowedDirs(), other.allowedDirs()
	return mine == nil || theirs != nil && !slices.ContainsFunc(theirs, func(dir string) bool {
		return !paths.WithinAny(mine, dir)
	})
}

func (c Restriction) allowedDirs() []string {
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
	if name, ok := paths.RelativeWithin(parent.guard.Workspace, resolved); ok && p.guard.WorkspaceName != "" {
		p.guard.WorkspaceName = filepath.Join(p.guard.WorkspaceName, name)
	} else {
		p.guard.WorkspaceName = ""
	}
	return parent.checkWorkspaceLocation(resolved, resolved)
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

// resolveWithin resolves a directory. It returns an error for a directory outside the policy's workspace and paths.
func (p *Policy) resolveWithin(path string) (string, error) {
	g := p.guard
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.Workspace, path)
	}
	resolved, err := resolveExistingPart(path)
	if err != nil {
		return "", err
	}
	if g.Restrict && !paths.Within(g.Workspace, resolved) || len(g.Paths) > 0 && !paths.WithinAny(g.Paths, resolved) {
		return "", fmt.Errorf("directory %s is wider than the parent's", resolved)
	}
	return resolved, nil
}
