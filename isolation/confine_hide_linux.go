package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// maxSiblings limits the number of entries that replace a granted directory.
const maxSiblings = 4096

// removeHiddenDirGrants removes hidden directories from the grants. Landlock can't exclude part of a granted directory, so
// removeHiddenDirGrants grants the siblings along the path to the hidden directory instead. Directories on that path can only
// be listed, and new entries in them are not granted.
//
// A plugin without exec keeps its write grants, since it could otherwise create no files there. The guard and the
// workspace restrict such a plugin.
func removeHiddenDirGrants(p Profile, grants map[string]uint64) error {
	for _, named := range p.Hide {
		hidden, err := filepath.EvalSymlinks(named)
		if errors.Is(err, fs.ErrNotExist) {
			continue // missing directories need no hiding
		}
		if err != nil {
			return &ProfileError{Profile: p.Name, Path: named, Problem: "is to be hidden and can't be found: " + err.Error()}
		}
		for _, tree := range grantedAncestors(hidden, grants) {
			rights := grants[tree]
			if !p.Exec && rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 {
				continue
			}
			delete(grants, tree)
			for _, dir := range directoriesBetween(tree, hidden) {
				grants[dir] |= rights & unix.LANDLOCK_ACCESS_FS_READ_DIR
				beside, err := siblingsOf(dir, hidden)
				if err != nil {
					return &ProfileError{Profile: p.Name, Path: tree, Problem: fmt.Sprintf("can't be opened around %s: %v", hidden,
						err), Cure: "open a directory that doesn't hold it"}
				}
				for _, path := range beside {
					grants[path] |= rights
				}
			}
		}
	}
	return nil
}

// grantedAncestors returns the granted directories that contain a hidden one.
func grantedAncestors(hidden string, grants map[string]uint64) (trees []string) {
	for path := range grants {
		if isStrictlyBelow(path, hidden) {
			trees = append(trees, path)
		}
	}
	return trees
}

// directoriesBetween returns the directories from a tree down to the parent of a path.
func directoriesBetween(tree, path string) []string {
	dirs := []string{tree}
	for _, name := range strings.Split(filepath.Dir(relativePath(tree, path)), "/") {
		if name != "." {
			dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], name))
		}
	}
	return dirs
}

// siblingsOf returns the entries of dir, except symlinks and the entry that is or contains hidden. A Landlock rule for
// a symlink would apply to its target.
func siblingsOf(dir, hidden string) (beside []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxSiblings {
		return nil, fmt.Errorf("%s contains %d files and directories; the limit is %d", dir, len(entries), maxSiblings)
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); !paths.Within(path, hidden) && entry.Type()&fs.ModeSymlink == 0 {
			beside = append(beside, path)
		}
	}
	return beside, nil
}
