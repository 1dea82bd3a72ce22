package protect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// SharedGitDir is the git directory of a linked work tree or a submodule. It is outside the work tree.
type SharedGitDir struct {
	WorkTree string `json:"work_tree"`
	Dir      string `json:"dir"` // the repository's
	Own      string `json:"own"` // the work tree's part of Dir; Dir for a submodule
}

// FindSharedGitDir returns the git directory that the .git file of a work tree names; nil if the work tree has no such
// file, or if it names no git directory or one in the work tree. The git directory must name the work tree, so that a
// project from elsewhere can't lead to another repository of the user.
func FindSharedGitDir(top string) (*SharedGitDir, error) {
	link := filepath.Join(top, GitDir)
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // there is no repository
	}
	own, common, hasCommon := readGitLink(top)
	d := &SharedGitDir{WorkTree: top, Own: own, Dir: common}
	if d.Own == "" || paths.Within(top, d.Own) || !isDir(d.Own) {
		return nil, nil
	}
	isNamed := false
	if hasCommon {
		text, _ := smallfile.Read(filepath.Join(d.Own, "gitdir"), maxJudged)
		isNamed = resolvePathInLine(d.Own, string(text)) == link && filepath.Dir(d.Own) == filepath.Join(d.Dir, "worktrees")
	} else {
		d.Dir = d.Own
		text, _ := smallfile.Read(filepath.Join(d.Own, "config"), maxJudged)
		m := workTreeLine().FindSubmatch(text)
		isNamed = m != nil && resolvePathInLine(d.Own, string(m[1])) == top
	}
	if !isNamed || !isCompleteGitDir(newExistsFunc(d.Dir)) || paths.Within(d.Dir, top) {
		return nil, fmt.Errorf("%s names the git directory %s, which does not name %s as its work tree; run `git worktree repair` in the main "+
			"work tree, or move the git directory to %s", link, d.Own, top, link)
	}
	return d, nil
}

// readGitLink returns the git directory that the .git file of a work tree names, "" for none, and the directory that its
// file commondir names.
func readGitLink(top string) (own, common string, hasCommon bool) {
	text, _ := smallfile.Read(filepath.Join(top, GitDir), maxJudged)
	if to, ok := strings.CutPrefix(string(text), gitLinkPrefix); ok {
		own = resolvePathInLine(top, to)
	}
	if own == "" {
		return "", "", false
	}
	text, err := smallfile.Read(filepath.Join(own, "commondir"), maxJudged)
	if err != nil {
		return own, "", false
	}
	return own, resolvePathInLine(own, string(text)), true
}

// BelongsToOthers reports whether a path in the git directory belongs to the main work tree or to another linked work
// tree, such as HEAD and index, or to no work tree, such as hooks. Commands in this work tree need not change it.
func (d *SharedGitDir) BelongsToOthers(path string) bool {
	below, ok := paths.RelativeWithin(d.Dir, path)
	if !ok || paths.Within(d.Own, path) {
		return false
	}
	below = strings.TrimSuffix(filepath.ToSlash(below), ".lock")
	if name, ok := strings.CutPrefix(below, "worktrees/"); ok {
		name, _, _ = strings.Cut(name, "/")
		dir := filepath.Join(d.Dir, "worktrees", name)
		text, _ := smallfile.Read(filepath.Join(dir, "gitdir"), maxJudged)
		return newExistsFunc(dir)("gitdir") && !paths.Within(d.WorkTree, resolvePathInLine(dir, string(text)))
	}
	return !sharedFile().MatchString(below) || ownRef().MatchString(below)
}

var (
	sharedFile = lazyregexp.New(`^((objects|reftable|lfs|refs|logs/refs)(/.*)?|logs|info|info/exclude|worktrees|` +
		`packed-refs(\.new)?|config|shallow|gc\.(pid|log))$`)
	// replaceableObject matches temporary files, and files that git derives from objects.
	replaceableObject = lazyregexp.New(`(^|/)(tmp_|incoming-|\.tmp-)|^info(/|$)|^maintenance\.lock$`)
	ownRef            = lazyregexp.New(`^(logs/)?refs/(bisect|worktree|rewritten)(/|$)`) // of the main work tree
)

// HoldsHistory reports whether a path in the git directory is an object, a pack, or a directory of these, but no
// temporary file.
func (d *SharedGitDir) HoldsHistory(path string) bool {
	below, ok := paths.RelativeWithin(filepath.Join(d.Dir, "objects"), path)
	return ok && !replaceableObject().MatchString(below)
}

// ListsAllRefs reports whether a path is a file with the refs or the settings of all work trees, which git replaces and
// never deletes.
func (d *SharedGitDir) ListsAllRefs(path string) bool {
	return path == filepath.Join(d.Dir, "packed-refs") || path == filepath.Join(d.Dir, "config")
}

// FindReadOnlyPaths returns existing paths that belong to others, for read-only mounts.
func (d *SharedGitDir) FindReadOnlyPaths() (found []string) {
	for _, dir := range []string{".", "refs", "logs", "info", "worktrees"} {
		entries, _ := os.ReadDir(filepath.Join(d.Dir, dir)) // optional
		for _, e := range entries {
			if path := filepath.Join(d.Dir, dir, e.Name()); e.Type()&fs.ModeSymlink == 0 && d.BelongsToOthers(path) {
				found = append(found, path)
			}
		}
	}
	return found
}
