package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Refusal messages.
const (
	outsideMessage        = "access denied: path is outside the workspace"
	outsideSymlinkMessage = "access denied: symlink resolves outside workspace"
)

// maxPathLength is the maximum length of a path.
const maxPathLength = 4096

// AbsPath returns the absolute form of a path, which is relative to the workspace. It neither resolves nor checks the
// path.
func (w *Workspace) AbsPath(path string) (string, error) {
	switch {
	case w.refused != nil:
		refused := *w.refused
		refused.Path = path
		return "", &refused
	case path == "":
		return "", newRefusal(path, "workspace.path", "the path is empty")
	case strings.ContainsRune(path, 0):
		return "", newRefusal(path, "workspace.path", "the path contains a NUL byte")
	case len(path) > maxPathLength:
		return "", newRefusal(path[:64]+"…", "workspace.path", "the path is too long")
	case !filepath.IsAbs(path):
		path = filepath.Join(w.policy.Workspace, path)
	}
	return paths.Rebase(filepath.Clean(path), w.policy.WorkspaceName, w.policy.Workspace), nil
}

// accessTarget is the target of a permitted access: a name below an open directory. The name can't lead out of the
// directory.
type accessTarget struct {
	dir   *os.Root
	name  string
	exact bool // fail at a symlink instead of following it

	// path, instead of dir and name, is a whitelisted path to read. It is opened without following symlinks, and its
	// parent directories need not be readable.
	path string
}

// withAllowedTarget calls op with the target of a path, if the policy permits the access.
//
// A read first tries the path as written: os.Root follows symlinks inside and refuses others. After a refusal, and for
// every change, withTarget resolves the symlinks once and checks the result. A symlink that is swapped in after that is
// refused by os.Root.
func (w *Workspace) withAllowedTarget(access guard.AccessKind, path string, op func(accessTarget) error) error {
	return w.withAllowedTargetFollow(access, access != guard.Delete, path, op)
}

// withAllowedTargetFollow is withTarget with a choice whether to follow a symlink at the end of the path.
func (w *Workspace) withAllowedTargetFollow(access guard.AccessKind, follow bool, path string, op func(accessTarget) error) error {
	abs, err := w.AbsPath(path)
	if err != nil {
		return err
	}
	reading := access == guard.Read || access == guard.List
	if !reading && w.readOnly {
		return newRefusal(path, "grant.workspace", "access denied: the workspace is read-only for this plugin")
	}
	if first := w.findAllowedRoot(access, abs); first != nil && reading && follow && !w.hasProtectedBelow(first) {
		err = op(accessTarget{dir: first.handle, name: first.relativeName(abs)})
		if err == nil || !isEscapeError(err) {
			return err
		}
	}
	real, err := w.resolveSymlinks(follow, abs)
	if err != nil {
		return err
	}
	if w.isProtected(access, real) {
		return newRefusal(path, "workspace.protected", outsideMessage)
	}
	exactly := reading && follow // if protected files are near
	if r := w.findAllowedRoot(access, real); r != nil && (!exactly || !w.hasProtectedBelow(r)) {
		return rewordRootError(op(accessTarget{dir: r.handle, name: r.relativeName(real)}), path)
	}
	if w.isWhitelisted(access, real) || w.findAllowedRoot(access, real) != nil {
		if exactly { // a swapped symlink could lead to a protected file
			return op(accessTarget{path: real})
		}
		return w.withNoSymlinkTarget(real, op)
	}
	return w.newOutsideRefusal(path, abs)
}

// resolveSymlinks resolves all symlinks of a path. Without follow, it keeps a symlink in the last component.
func (w *Workspace) resolveSymlinks(follow bool, abs string) (string, error) {
	if follow {
		if w.hasNoSymlinks(abs) {
			return abs, nil
		}
		return paths.Resolve(abs)
	}
	dir, err := filepath.Dir(abs), error(nil)
	if !w.hasNoSymlinks(dir) {
		dir, err = paths.Resolve(dir)
	}
	return filepath.Join(dir, filepath.Base(abs)), err
}

// hasNoSymlinks reports whether a path in an allowed directory has no symlinks below that directory. It need not
// resolve the parents of the directory.
func (w *Workspace) hasNoSymlinks(abs string) bool {
	if runtime.GOOS == "windows" {
		return false // Windows names have alternative forms
	}
	for _, r := range w.roots {
		name, ok := paths.RelativeWithin(r.dir, abs)
		if !ok {
			continue
		}
		for end := len(abs) - len(name); end < len(abs) && name != "."; {
			next := strings.IndexByte(abs[end+1:], filepath.Separator)
			if end += 1 + next; next < 0 {
				end = len(abs)
			}
			info, err := os.Lstat(abs[:end])
			if errors.Is(err, fs.ErrNotExist) {
				return true // nothing below exists
			}
			if err != nil || info.Mode()&fs.ModeSymlink != 0 {
				return false
			}
		}
		return true
	}
	return false
}

// findAllowedRoot returns the allowed directory that contains a path and permits the access, or nil.
func (w *Workspace) findAllowedRoot(access guard.AccessKind, abs string) *allowedRoot {
	reading := access == guard.Read || access == guard.List
	for _, r := range w.roots {
		if paths.Within(r.dir, abs) && (reading || r.writable) {
			return r
		}
	}
	return nil
}

func (r *allowedRoot) relativeName(abs string) string {
	name, _ := paths.RelativeWithin(r.dir, abs)
	return name
}

// isWhitelisted reports whether a whitelist pattern allows the access to a resolved path.
func (w *Workspace) isWhitelisted(access guard.AccessKind, real string) bool {
	patterns := w.writes
	if access == guard.Read || access == guard.List {
		patterns = w.reads
	}
	return matchesAnyPattern(patterns, real) && w.isInAllowedPaths(real)
}

func matchesAnyPattern(patterns []*regexp.Regexp, path string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(path) })
}

// isInAllowedPaths reports whether the policy's Paths contain a path. An empty Paths allows all.
func (w *Workspace) isInAllowedPaths(real string) bool {
	return len(w.policy.Paths) == 0 || paths.WithinAny(w.policy.Paths, real)
}

// newOutsideRefusal returns the refusal for a path outside the allowed directories.
func (w *Workspace) newOutsideRefusal(path, abs string) error {
	if len(w.policy.Paths) > 0 && !w.isInAllowedPaths(abs) {
		return newRefusal(path, "constraint.paths", "Path '"+abs+"' is outside allowed paths")
	}
	if paths.Within(w.policy.Workspace, abs) {
		return newRefusal(path, "workspace.symlink", outsideSymlinkMessage)
	}
	return newRefusal(path, "workspace.outside", outsideMessage)
}

// rewordRootError replaces an error message of os.Root, which names a system call and a part of the path.
func rewordRootError(err error, path string) error {
	if err == nil {
		return nil
	}
	if isEscapeError(err) {
		return newRefusal(path, "workspace.symlink", outsideSymlinkMessage)
	}
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // one that is wrapped is part of somebody's sentence
		switch op := strings.TrimSuffix(p.Op, "at"); op {
		case "open", "stat", "lstat":
			return &fs.PathError{Op: op, Path: path, Err: p.Err}
		}
	}
	return err
}

// isEscapeError reports whether os.Root refused a path that leads outside. Package os does not export that error.
func isEscapeError(err error) bool {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error() == "path escapes from parent"
}

// openDirRoot opens a directory as an os.Root. The added separator makes it fail for a FIFO instead of waiting.
func openDirRoot(path string) (*os.Root, error) {
	return os.OpenRoot(path + string(filepath.Separator))
}

// withNoSymlinkTarget calls op with the parent directory of a resolved path. It returns an error if the path contains a
// symlink that was swapped in meanwhile.
func (w *Workspace) withNoSymlinkTarget(real string, op func(accessTarget) error) error {
	parent := filepath.Dir(real)
	dir, err := openDirRoot(parent)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return err
	}
	meant, err := statNoSymlinks(parent)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, meant) {
		return fmt.Errorf("%s was replaced while it was in use", parent)
	}
	name := filepath.Base(real)
	info, err := dir.Lstat(name)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return newRefusal(real, "workspace.symlink", outsideSymlinkMessage)
	}
	return op(accessTarget{dir: dir, name: name, exact: true})
}

// isDirOnlyPath reports whether a path ends in a slash or a dot, so that it can only name a directory. An absolute form
// loses this ending.
func isDirOnlyPath(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}
