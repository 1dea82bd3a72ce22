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

// The refusals, in the words that agents know.
const (
	outside        = "access denied: path is outside the workspace"
	outsideSymlink = "access denied: symlink resolves outside workspace"
)

// maxPath is the longest path that is looked at, in bytes.
const maxPath = 4096

// Abs returns the absolute form of a path as callers write it: relative ones start at the workspace. It resolves no
// links and decides nothing.
func (w *Workspace) Abs(path string) (string, error) {
	switch {
	case w.refused != nil:
		refused := *w.refused
		refused.Path = path
		return "", &refused
	case path == "":
		return "", refused(path, "workspace.path", "the path is empty")
	case strings.ContainsRune(path, 0):
		return "", refused(path, "workspace.path", "the path contains a NUL byte")
	case len(path) > maxPath:
		return "", refused(path[:64]+"…", "workspace.path", "the path is too long")
	case !filepath.IsAbs(path):
		path = filepath.Join(w.policy.Workspace, path)
	}
	return filepath.Clean(path), nil
}

// place is where an access takes place: a name below a directory that is open. Whatever is done through the handle
// can't lead out of its directory.
type place struct {
	dir   *os.Root
	name  string
	exact bool // the name itself was decided on: a link in its stead is not followed

	// path, in place of dir and name, is a single whitelisted path that is read: it is opened as a whole with no link
	// followed. The directories above it need not be open to anybody.
	path string
}

// use finds the place of a path for an access that the policy permits and gives it to op.
//
// Reading tries the path as it is written first: os.Root follows links that stay inside and refuses the rest. Where it
// refuses, and for every change, the links are resolved once and the result says where the path really leads. A link
// that is swapped in between meets os.Root again.
func (w *Workspace) use(access guard.Access, path string, op func(place) error) error {
	return w.useAs(access, access != guard.Delete, path, op)
}

// useAs is use with the choice whether a link at the end of the path stands for itself or for where it leads.
func (w *Workspace) useAs(access guard.Access, follow bool, path string, op func(place) error) error {
	abs, err := w.Abs(path)
	if err != nil {
		return err
	}
	reading := access == guard.Read || access == guard.List
	if !reading && w.readOnly {
		return refused(path, "grant.workspace", "access denied: the workspace is read-only for this plugin")
	}
	if first := w.find(access, abs); first != nil && reading && follow && !w.guarded(first) {
		err = op(place{dir: first.handle, name: first.name(abs)})
		if err == nil || !escapes(err) {
			return err
		}
	}
	real, err := w.resolveAs(follow, abs)
	if err != nil {
		return err
	}
	if w.protected(access, real) {
		return refused(path, "workspace.protected", outside)
	}
	exactly := reading && follow // if there is something protected near
	if r := w.find(access, real); r != nil && (!exactly || !w.guarded(r)) {
		return reworded(op(place{dir: r.handle, name: r.name(real)}), path)
	}
	if w.whitelisted(access, real) || w.find(access, real) != nil {
		if exactly { // a link that is swapped in could lead to what is protected
			return op(place{path: real})
		}
		return w.useExact(real, op)
	}
	return w.refusal(path, abs)
}

// resolveAs resolves all links of a path, or all but one at its end.
func (w *Workspace) resolveAs(follow bool, abs string) (string, error) {
	if follow {
		if w.straight(abs) {
			return abs, nil
		}
		return paths.Resolve(abs)
	}
	dir, err := filepath.Dir(abs), error(nil)
	if !w.straight(dir) {
		dir, err = paths.Resolve(dir)
	}
	return filepath.Join(dir, filepath.Base(abs)), err
}

// straight reports whether no link is on the way from an open directory, which was resolved when it was opened, to a
// path below it. It spares looking at each directory above.
func (w *Workspace) straight(abs string) bool {
	if runtime.GOOS == "windows" {
		return false // there a name has other forms besides
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
				return true // and nothing below it
			}
			if err != nil || info.Mode()&fs.ModeSymlink != 0 {
				return false
			}
		}
		return true
	}
	return false
}

// find returns the open directory that contains a path, for an access that it permits.
func (w *Workspace) find(access guard.Access, abs string) *root {
	reading := access == guard.Read || access == guard.List
	for _, r := range w.roots {
		if paths.Within(r.dir, abs) && (reading || r.writable) {
			return r
		}
	}
	return nil
}

func (r *root) name(abs string) string {
	name, _ := paths.Below(r.dir, abs)
	return name
}

// whitelisted reports whether a resolved path outside the open directories is opened by a pattern.
func (w *Workspace) whitelisted(access guard.Access, real string) bool {
	patterns := w.writes
	if access == guard.Read || access == guard.List {
		patterns = w.reads
	}
	return matches(patterns, real) && w.constrained(real)
}

func matches(patterns []*regexp.Regexp, path string) bool {
	for _, re := range patterns {
		if re.MatchString(path) {
			return true
		}
	}
	return false
}

// constrained reports whether the paths constraint, if there is one, leaves a path open.
func (w *Workspace) constrained(real string) bool {
	return len(w.policy.Paths) == 0 || paths.WithinAny(w.policy.Paths, real)
}

// refusal says why a path is not open.
func (w *Workspace) refusal(path, abs string) error {
	if len(w.policy.Paths) > 0 && !w.constrained(abs) {
		return refused(path, "constraint.paths", "Path '"+path+"' is outside allowed paths")
	}
	if paths.Within(w.policy.Workspace, abs) {
		return refused(path, "workspace.symlink", outsideSymlink)
	}
	return refused(path, "workspace.outside", outside)
}

// reworded replaces os.Root's words: for a link that was swapped while it was in use, and where it names a system call
// and a part of the path.
func reworded(err error, path string) error {
	if err == nil {
		return nil
	}
	if escapes(err) {
		return refused(path, "workspace.symlink", outsideSymlink)
	}
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // one that is wrapped is part of somebody's sentence
		switch op := strings.TrimSuffix(p.Op, "at"); op {
		case "open", "stat", "lstat":
			return &fs.PathError{Op: op, Path: path, Err: p.Err}
		}
	}
	return err
}

// escapes reports whether os.Root refused a path because it leads out. The os package does not export the error.
func escapes(err error) bool {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error() == "path escapes from parent"
}

// useExact gives op the parent directory of a resolved path, opened without following any symbolic link: if a part of
// the path has become a link since it was resolved, the directory that was opened is another one, and nothing happens.
func (w *Workspace) useExact(real string, op func(place) error) error {
	parent := filepath.Dir(real)
	dir, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return err
	}
	meant, err := statExactly(parent)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, meant) {
		return fmt.Errorf("%s was replaced while it was in use", parent)
	}
	name := filepath.Base(real)
	info, err := dir.Lstat(name)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return refused(real, "workspace.symlink", outsideSymlink)
	}
	return op(place{dir: dir, name: name, exact: true})
}

// endsInSlash reports whether a path can name a directory only. Made absolute it would not show that any more.
func endsInSlash(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}
