package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Child says what a child session asks for. Its zero value asks for all that the parent has: a nil pointer, a nil
// list, an empty string and a zero inherit. An empty list that is not nil asks for none.
//
// The rules for commands aren't asked for: a child has its parent's, those that allow among them. Nor is undo: a child
// with a smaller store would delete what its parent has kept in the one that they share.
type Child struct {
	Workspace                 string // a directory inside the parent's workspace, absolute or relative to it
	RestrictToWorkspace       *bool
	AllowReadOutsideWorkspace *bool
	AllowReadPaths            []string // some of the parent's
	AllowWritePaths           []string // some of the parent's
	// directories that confine the child besides the parent's; absolute or relative to the workspace
	Paths       []string
	MaxFileSize int64 // bytes

	ToolSet         string   // the parent's, or any when the parent has "all"
	EnabledTools    []string // of the parent's tools, only those that match a name or glob
	DisabledTools   []string // of the parent's tools, none that matches
	EnabledPlugins  []string // the same for plugins
	DisabledPlugins []string
	Grants          map[string]pluginpb.Grant // by plugin id: at most what the parent's plugin has

	EnableDenyPatterns  *bool
	CustomDenyPatterns  []string // besides the parent's
	CustomAllowPatterns []string // some of the parent's
	ExecProfile         string   // "default" or "seed_strict"
	ExecEnv             []string // some of the parent's
	Limits              Limits   // none larger than the parent's

	IsolationEnabled *bool
	Network          *bool
	ExposePaths      []isolation.ExposePath // some of the parent's; "rw" may become "ro"
}

// Narrow returns the policy of a child session. It allows nothing that p does not allow: a child that asks for more
// gets an error which names what would be wider. What is inherited is inherited as it is.
func (p *Policy) Narrow(child Child) (*Policy, error) {
	out := *p
	out.guard = cloneGuard(p.guard)
	for _, step := range []func(*Policy, *Policy, Child) error{
		narrowFlags, narrowWhitelists, narrowWorkspace, narrowCommands, narrowTools, narrowPlugins, narrowLimits,
		narrowIsolation,
	} {
		if err := step(&out, p, child); err != nil {
			return nil, fmt.Errorf("agent %q: %w", p.agent, err)
		}
	}
	return out.seal()
}

// wider says that the child asks for more than the parent has.
func wider(what string, asked any) error {
	return fmt.Errorf("%s %v is wider than the parent's", what, asked)
}

// stricter returns the child's value of a flag. strict is the value that allows less.
func stricter(name string, parent bool, asked *bool, strict bool) (bool, error) {
	switch {
	case asked == nil:
		return parent, nil
	case *asked != parent && *asked != strict:
		return parent, wider(name, *asked)
	default:
		return *asked, nil
	}
}

func narrowFlags(out, parent *Policy, child Child) (err error) {
	g := parent.guard
	if out.guard.Restrict, err = stricter("restrict_to_workspace", g.Restrict, child.RestrictToWorkspace,
		true); err != nil {
		return err
	}
	// A parent that is not restricted reads everywhere, whatever this flag is.
	readsOutside := g.AllowReadOutside || !g.Restrict
	asked := child.AllowReadOutsideWorkspace
	if asked != nil && *asked && !readsOutside {
		return wider("allow_read_outside_workspace", true)
	}
	if asked != nil {
		out.guard.AllowReadOutside = *asked
	}
	return nil
}

func narrowWhitelists(out, parent *Policy, child Child) error {
	g := parent.guard
	if child.AllowReadPaths != nil {
		if err := subset("allow_read_paths", child.AllowReadPaths, g.AllowReadPaths,
			!g.Restrict || g.AllowReadOutside); err != nil {
			return err
		}
		out.guard.AllowReadPaths = slices.Clone(child.AllowReadPaths)
	}
	if child.AllowWritePaths != nil {
		if err := subset("allow_write_paths", child.AllowWritePaths, g.AllowWritePaths, !g.Restrict); err != nil {
			return err
		}
		out.guard.AllowWritePaths = slices.Clone(child.AllowWritePaths)
	}
	return nil
}

// subset checks that the patterns compile, and unless anyPattern, that they are among the parent's. Whether
// one expression matches no more than another is not decided: the parent's own are what a child can choose from.
func subset(name string, asked, parent []string, anyPattern bool) error {
	if err := checkPatterns(name, asked); err != nil {
		return err
	}
	for _, pattern := range asked {
		if !anyPattern && !slices.Contains(parent, pattern) {
			return wider(name, fmt.Sprintf("%q", pattern))
		}
	}
	return nil
}

func checkPatterns(name string, patterns []string) error {
	for _, pattern := range patterns {
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			return fmt.Errorf("%s: %q is not a regular expression: %w", name, pattern, err)
		}
	}
	return nil
}

// narrowWorkspace runs after the flags and whitelists, since the parent's reach is judged by the parent alone.
func narrowWorkspace(out, parent *Policy, child Child) error {
	if child.Workspace != "" {
		resolved, err := childDirectory(child.Workspace, parent)
		if err != nil {
			return fmt.Errorf("workspace %s: %w", child.Workspace, err)
		}
		if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
			return fmt.Errorf("workspace %s is not a directory; a child session works in one that exists", child.Workspace)
		}
		if err := parent.checkWorkspace(resolved, "the workspace "+child.Workspace); err != nil {
			return err
		}
		out.guard.Workspace = resolved
	}
	if child.Paths != nil {
		var paths []string
		for _, path := range child.Paths {
			resolved, err := childDirectory(path, parent)
			if err != nil {
				return fmt.Errorf("path %s: %w", path, err)
			}
			paths = append(paths, resolved)
		}
		if len(paths) == 0 {
			return errors.New("an empty list of paths would confine the child to nothing; leave it out or name a directory")
		}
		out.guard.Paths = paths
	}
	if child.MaxFileSize < 0 || child.MaxFileSize > 0 && parent.guard.MaxFileSize > 0 &&
		child.MaxFileSize > parent.guard.MaxFileSize {
		return wider("max_file_size", child.MaxFileSize)
	}
	if child.MaxFileSize > 0 {
		out.guard.MaxFileSize = child.MaxFileSize
	}
	return nil
}

// childDirectory resolves a directory of the child's, which must be inside the parent's roots.
func childDirectory(path string, parent *Policy) (string, error) {
	g := parent.guard
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.Workspace, path)
	}
	resolved, err := resolveExisting(path)
	if err != nil {
		return "", err
	}
	if g.Restrict && !paths.Within(g.Workspace, resolved) || len(g.Paths) > 0 && !paths.WithinAny(g.Paths, resolved) {
		return "", wider("directory", resolved)
	}
	return resolved, nil
}
