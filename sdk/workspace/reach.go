package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Messages of refusals.
const (
	outsideMessage        = "access denied: path is outside the workspace"
	outsideSymlinkMessage = "access denied: symlink resolves outside workspace"
)

// maxPathLength limits paths.
const maxPathLength = 4096

// AbsPath returns the absolute form of a caller's path, relative to the workspace. It does not resolve or check it.
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

// pathPlace is the target of an access: a name below an open directory, which can't be left through the handle.
type pathPlace struct {
	dir   *os.Root
	name  string
	exact bool // do not follow a symlink at the name

	// path, instead of dir and name, is a single whitelisted path to read. It is opened without following symlinks; the
	// directories above need not be readable.
	path string
}

// withPlace passes the place of a path to op if the policy permits the access.
//
// Reads try the path as written first: os.Root follows symlinks inside and refuses others. After a refusal, and for
// every change, symlinks are resolved once and the result is checked. os.Root refuses a symlink swapped in meanwhile.
func (w *Workspace) withPlace(access guard.Access, path string, op func(pathPlace) error) error {
	return w.withPlaceAs(access, access != guard.Delete, path, op)
}

// withPlaceAs is withPlace with a choice whether to follow a symlink at the end of the path.
func (w *Workspace) withPlaceAs(access guard.Access, follow bool, path string, op func(pathPlace) error) error {
	abs, err := w.AbsPath(path)
	if err != nil {
		return err
	}
	reading := access == guard.Read || access == guard.List
	if !reading && w.readOnly {
		return newRefusal(path, "grant.workspace", "access denied: the workspace is read-only for this plugin")
	}
	if first := w.findRoot(access, abs); first != nil && reading && follow && !w.containsProtected(first) {
		err = op(pathPlace{dir: first.handle, name: first.relativeName(abs)})
		if err == nil || !isEscape(err) {
			return err
		}
	}
	real, err := w.resolveAs(follow, abs)
	if err != nil {
		return err
	}
	if w.isProtected(access, real) {
		return newRefusal(path, "workspace.protected", outsideMessage)
	}
	exactly := reading && follow // if protected files are near
	if r := w.findRoot(access, real); r != nil && (!exactly || !w.containsProtected(r)) {
		return rewordError(op(pathPlace{dir: r.handle, name: r.relativeName(real)}), path)
	}
	if w.isWhitelisted(access, real) || w.findRoot(access, real) != nil {
		if exactly { // a swapped symlink could lead to a protected file
			return op(pathPlace{path: real})
		}
		return w.withExactPlace(real, op)
	}
	return w.outsideRefusal(path, abs)
}

// resolveAs resolves all symlinks of a path, optionally except the last component.
func (w *Workspace) resolveAs(follow bool, abs string) (string, error) {
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

// hasNoSymlinks reports whether a path below an open directory has no symlinks. It avoids resolving the directories
// above.
func (w *Workspace) hasNoSymlinks(abs string) bool {
	if runtime.GOOS == "windows" {
		return false // Windows names have alternative forms
	}
	for _, r := range w.roots {
		name, ok := paths.Below(r.dir, abs)
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

// findRoot returns the open directory that contains a path and permits the access.
func (w *Workspace) findRoot(access guard.Access, abs string) *openRoot {
	reading := access == guard.Read || access == guard.List
	for _, r := range w.roots {
		if paths.Within(r.dir, abs) && (reading || r.writable) {
			return r
		}
	}
	return nil
}

func (r *openRoot) relativeName(abs string) string {
	name, _ := paths.Below(r.dir, abs)
	return name
}

// isWhitelisted reports whether a pattern opens a resolved path outside the open directories.
func (w *Workspace) isWhitelisted(access guard.Access, real string) bool {
	patterns := w.writes
	if access == guard.Read || access == guard.List {
		patterns = w.reads
	}
	return matchesAny(patterns, real) && w.withinConstraint(real)
}

func matchesAny(patterns []*regexp.Regexp, path string) bool {
	for _, re := range patterns {
		if re.MatchString(path) {
			return true
		}
	}
	return false
}

// withinConstraint reports whether the paths constraint allows a path; true without one.
func (w *Workspace) withinConstraint(real string) bool {
	return len(w.policy.Paths) == 0 || paths.WithinAny(w.policy.Paths, real)
}

// outsideRefusal returns the error for a path outside.
func (w *Workspace) outsideRefusal(path, abs string) error {
	if len(w.policy.Paths) > 0 && !w.withinConstraint(abs) {
		return newRefusal(path, "constraint.paths", "Path '"+path+"' is outside allowed paths")
	}
	if paths.Within(w.policy.Workspace, abs) {
		return newRefusal(path, "workspace.symlink", outsideSymlinkMessage)
	}
	return newRefusal(path, "workspace.outside", outsideMessage)
}

// rewordError replaces os.Root's messages, which name system calls and parts of the path.
func rewordError(err error, path string) error {
	if err == nil {
		return nil
	}
	if isEscape(err) {
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

// isEscape reports whether os.Root refused a path that leads outside. The os package does not export the error.
func isEscape(err error) bool {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error() == "path escapes from parent"
}

// openDirRoot opens a directory as an os.Root. The separator has it fail at once where a FIFO is, instead of waiting.
func openDirRoot(path string) (*os.Root, error) {
	return os.OpenRoot(path + string(filepath.Separator))
}

// withExactPlace passes the parent directory of a resolved path to op, opened without following symlinks, so that a
// swapped symlink causes an error.
func (w *Workspace) withExactPlace(real string, op func(pathPlace) error) error {
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
	return op(pathPlace{dir: dir, name: name, exact: true})
}

// endsInSlash reports whether a path can only name a directory. The absolute form loses that.
func endsInSlash(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}
