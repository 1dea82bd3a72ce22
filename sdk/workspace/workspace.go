// Package workspace is what a plugin does its file I/O through: the second of picoclaw's three walls.
//
// Everything is opened below an os.Root for a directory that the policy allows, or, for a single whitelisted path
// outside, exactly at the path that was decided on with no symbolic link followed. A path is never checked as a string
// and then used as one, so a file that is swapped for a symbolic link between check and use still can't lead out.
//
// It opens regular files only, without blocking: a FIFO, a device or a socket is an error at once. Writes are old or
// new, never partial, and on disk when they have returned.
//
// Changes in one directory take turns by a lock on the directory, not on the file: a file's inode is another one after
// each change. Every process can take that lock, none leaves one behind, and nothing is added to the workspace for it.
//
// A hard link in the workspace is a file of the workspace. Reading it can't be told from reading any file; writing
// replaces it, so that the other name keeps what it had.
//
// The package decides from the policy by itself and does not ask the guard, so that each holds when the other fails.
// It must not know of tools, hosts or the wire.
package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Options narrow a workspace beyond its policy.
type Options struct {
	// ReadOnly refuses every change, whatever the policy allows.
	ReadOnly bool

	// StateDir is a directory outside the workspace where the temporary files that exist are recorded, so that those
	// of a process that was killed are removed by the next. Without it they stay. What is written in place is there
	// until it is done: without it no file is.
	StateDir string
}

// Workspace is the files that a policy opens. It may be used concurrently.
type Workspace struct {
	policy   guard.Policy
	readOnly bool
	roots    []*root // the longest directory first
	reads    []*regexp.Regexp
	writes   []*regexp.Regexp
	closed   []string // Policy.Protected, resolved
	opened   []string // Policy.Unprotected, resolved
	inside   *protect.Rules
	made     madeDirs
	locks    locks
	pending  pending
	refused  *Error //  what everything is refused with; nil for a workspace that is open
}

// Refusing returns a workspace that has no files: whatever is done with a path is refused in these words.
func Refusing(with Error) *Workspace { return &Workspace{refused: &with} }

// root is a directory that is open as a whole.
type root struct {
	dir      string // absolute, resolved
	writable bool
	handle   *os.Root
}

// Open opens the workspace that a policy describes. Close it when done.
func Open(p guard.Policy, o Options) (*Workspace, error) {
	w := &Workspace{policy: p, readOnly: o.ReadOnly}
	var err error
	if w.reads, err = compile(p.AllowReadPaths); err != nil {
		return nil, fmt.Errorf("allow_read_paths: %w", err)
	}
	if w.writes, err = compile(p.AllowWritePaths); err != nil {
		return nil, fmt.Errorf("allow_write_paths: %w", err)
	}
	if !filepath.IsAbs(p.Workspace) {
		return nil, fmt.Errorf("the workspace %q is not an absolute path", p.Workspace)
	}
	// A workspace that is given through a link is the link's target from here on.
	if w.policy.Workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	entries := protect.Entries{Deny: p.WorkspaceDeny, Ask: p.WorkspaceAsk}
	if w.inside, err = protect.New(w.policy.Workspace, entries, w.opensOutside); err != nil {
		return nil, fmt.Errorf("workspace.protect: %w", err)
	}
	if w.closed, err = w.resolved(p.Protected); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if w.opened, err = w.resolved(p.Unprotected); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	for _, r := range w.plan() {
		if r.handle, err = os.OpenRoot(r.dir); err != nil {
			if errors.Is(err, os.ErrNotExist) && r.dir != w.policy.Workspace {
				continue // a constraint may name what is not there; it opens nothing
			}
			return nil, errors.Join(fmt.Errorf("open the workspace: %w", err), w.Close())
		}
		w.roots = append(w.roots, r)
	}
	slices.SortStableFunc(w.roots, func(a, b *root) int { return len(b.dir) - len(a.dir) })
	w.pending.dir = o.StateDir
	w.sweep()
	return w, nil
}

// plan lists the directories that are open as a whole: the workspace, the whole machine where the policy says so, and
// of these only what a paths constraint leaves.
func (w *Workspace) plan() []*root {
	p := w.policy
	whole := []*root{{dir: p.Workspace, writable: true}}
	switch {
	case !p.Restrict:
		whole = append(whole, &root{dir: filepath.VolumeName(p.Workspace) + string(filepath.Separator), writable: true})
	case p.AllowReadOutside:
		whole = append(whole, &root{dir: filepath.VolumeName(p.Workspace) + string(filepath.Separator)})
	}
	if len(p.Paths) == 0 {
		return whole
	}
	var narrowed []*root
	for _, dir := range p.Paths {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		for _, r := range whole {
			if paths.Within(r.dir, real) {
				narrowed = append(narrowed, &root{dir: real, writable: r.writable})
				break
			}
		}
	}
	return narrowed
}

// Close closes the directories. Files that were opened through the workspace stay open.
func (w *Workspace) Close() error {
	err := w.pending.close()
	for _, r := range w.roots {
		err = errors.Join(err, r.handle.Close())
	}
	return err
}

// Dir is the workspace directory: absolute, symbolic links resolved.
func (w *Workspace) Dir() string { return w.policy.Workspace }

// MaxFileSize is the largest file, in bytes, that may be read or written; 0 is no limit.
func (w *Workspace) MaxFileSize() int64 { return w.policy.MaxFileSize }

func compile(patterns []string) ([]*regexp.Regexp, error) {
	compiled := make([]*regexp.Regexp, 0, len(patterns))
	for _, pattern := range patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		compiled = append(compiled, re)
	}
	return compiled, nil
}
