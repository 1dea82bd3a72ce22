// Package workspace does the file I/O of plugins: the second of picoclaw's three layers.
//
// It opens files below an os.Root of an allowed directory, or a single whitelisted path outside without following
// symlinks. It never checks a path as a string to use it later, so swapping a file for a symlink in between can't lead
// outside.
//
// It opens regular files only and never blocks: FIFOs, devices and sockets are errors. Writes are atomic, and on disk
// when they return.
//
// Changes in a directory are serialised by a lock on the directory, since a file's inode changes with each write. Locks
// of killed processes disappear, and no lock files are needed.
//
// A hard link in the workspace is a file of the workspace. Writing replaces it, so that other names keep the old
// content.
//
// The package decides from the policy independently of the guard, so that each layer holds if the other fails. It must
// not know tools, hosts or the wire protocol.
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

// Options restrict a workspace more than its policy does.
type Options struct {
	// ReadOnly refuses every change.
	ReadOnly bool

	// StateDir is a directory outside the workspace for records of temporary files and of writes in place. The next
	// process uses them to clean up after a crash. Without StateDir, temporary files of a crash remain, and files are
	// never written in place.
	StateDir string
}

// Workspace gives access to the files that a policy allows. It is safe for concurrent use.
type Workspace struct {
	policy   guard.Policy
	readOnly bool
	roots    []*allowedRoot // longest path first
	reads    []*regexp.Regexp
	writes   []*regexp.Regexp
	closed   []string // Policy.Protected, resolved
	opened   []string // Policy.Unprotected, resolved
	inside   *protect.Rules
	made     createdRepos
	locks    dirLocks
	pending  tempFileRecords
	refused  *Error // refuses everything; nil in an open workspace
}

// NewRefusingWorkspace returns a workspace that refuses every access with an error.
func NewRefusingWorkspace(with Error) *Workspace { return &Workspace{refused: &with} }

// allowedRoot is a directory whose contents the policy allows.
type allowedRoot struct {
	dir      string // absolute, resolved
	writable bool
	handle   *os.Root
}

// OpenWorkspace opens the allowed directories of a policy. It also cleans up after killed processes. Close the
// workspace when done.
func OpenWorkspace(p guard.Policy, o Options) (*Workspace, error) {
	w := &Workspace{policy: p, readOnly: o.ReadOnly}
	var err error
	if w.reads, err = compilePatterns(p.AllowReadPaths); err != nil {
		return nil, fmt.Errorf("allow_read_paths: %w", err)
	}
	if w.writes, err = compilePatterns(p.AllowWritePaths); err != nil {
		return nil, fmt.Errorf("allow_write_paths: %w", err)
	}
	if !filepath.IsAbs(p.Workspace) {
		return nil, fmt.Errorf("the workspace %q is not an absolute path", p.Workspace)
	}
	// Resolve a workspace given as a symlink.
	if w.policy.Workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	entries := protect.PathLists{Deny: p.WorkspaceDeny, Ask: p.WorkspaceAsk}
	anywhere := func(string) bool { return true } // git directories, also in the home of commands
	if w.inside, err = protect.CompileRules(w.policy.Workspace, entries, anywhere); err != nil {
		return nil, fmt.Errorf("workspace.protect: %w", err)
	}
	if w.closed, err = w.resolvePaths(p.Protected); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if w.opened, err = w.resolvePaths(p.Unprotected); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	for _, r := range w.listAllowedRoots() {
		if r.handle, err = os.OpenRoot(r.dir); err != nil {
			if errors.Is(err, os.ErrNotExist) && r.dir != w.policy.Workspace {
				continue // a constraint may name missing directories
			}
			return nil, errors.Join(fmt.Errorf("open the workspace: %w", err), w.Close())
		}
		w.roots = append(w.roots, r)
	}
	slices.SortStableFunc(w.roots, func(a, b *allowedRoot) int { return len(b.dir) - len(a.dir) })
	w.pending.dir = o.StateDir
	w.recoverFromKilledProcesses()
	return w, nil
}

// listAllowedRoots returns the allowed directories: the workspace or the whole machine, limited by the policy's Paths.
func (w *Workspace) listAllowedRoots() []*allowedRoot {
	p := w.policy
	whole := []*allowedRoot{{dir: p.Workspace, writable: true}}
	switch {
	case !p.Restrict:
		whole = append(whole, &allowedRoot{dir: filepath.VolumeName(p.Workspace) + string(filepath.Separator), writable: true})
	case p.AllowReadOutside:
		whole = append(whole, &allowedRoot{dir: filepath.VolumeName(p.Workspace) + string(filepath.Separator)})
	}
	if len(p.Paths) == 0 {
		return whole
	}
	var narrowed []*allowedRoot
	for _, dir := range p.Paths {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		for _, r := range whole {
			if paths.Within(r.dir, real) {
				narrowed = append(narrowed, &allowedRoot{dir: real, writable: r.writable})
				break
			}
		}
	}
	return narrowed
}

// Close closes the allowed directories. Files opened through the workspace stay open.
func (w *Workspace) Close() error {
	err := w.pending.closeFile()
	for _, r := range w.roots {
		err = errors.Join(err, r.handle.Close())
	}
	return err
}

// Dir returns the resolved absolute path of the workspace directory.
func (w *Workspace) Dir() string { return w.policy.Workspace }

// MaxFileSize returns the policy's limit for reading and writing a file, in bytes; 0 is no limit.
func (w *Workspace) MaxFileSize() int64 { return w.policy.MaxFileSize }

func compilePatterns(patterns []string) ([]*regexp.Regexp, error) {
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
