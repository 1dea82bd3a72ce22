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

// maxBeside is how many files and directories may lie beside the way to a hidden directory.
const maxBeside = 4096

// spare takes hidden directories out of what is granted. Landlock can't close what lies in a tree that it opens, so in
// the place of such a tree comes what lies beside the way to the hidden directory. Of the directories on the way, and
// so of the hidden one, only the names can be listed; nothing can be made in them, and what others make there later
// isn't open.
//
// A plugin that starts no programs keeps what it may write, since it would otherwise make no file there at all: it has
// the guard and the workspace to hold it, which programs have not.
func spare(p Profile, grants map[string]uint64) error {
	for _, hidden := range p.Hide {
		hidden, err := filepath.EvalSymlinks(hidden)
		if errors.Is(err, fs.ErrNotExist) {
			continue // there is nothing to hide
		}
		if err != nil {
			return &ProfileError{Profile: p.Name, Path: hidden, Problem: "is to be hidden and can't be found: " + err.Error()}
		}
		for _, tree := range above(hidden, grants) {
			rights := grants[tree]
			if !p.Exec && rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 {
				continue
			}
			delete(grants, tree)
			for _, dir := range way(tree, hidden) {
				grants[dir] |= rights & unix.LANDLOCK_ACCESS_FS_READ_DIR
				beside, err := besides(dir, hidden)
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

// above are the granted directories that a hidden one lies in.
func above(hidden string, grants map[string]uint64) (trees []string) {
	for path := range grants {
		if below(path, hidden) {
			trees = append(trees, path)
		}
	}
	return trees
}

// way are the directories from a tree down to the one that holds a path in it.
func way(tree, path string) []string {
	dirs := []string{tree}
	for _, name := range strings.Split(filepath.Dir(rel(tree, path)), "/") {
		if name != "." {
			dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], name))
		}
	}
	return dirs
}

// besides are the entries of a directory on the way to a hidden one, apart from the next on that way. Links are none of
// them: a rule would be about what they lead to.
func besides(dir, hidden string) (beside []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxBeside {
		return nil, fmt.Errorf("%s holds %d files and directories, and the limit is %d", dir, len(entries), maxBeside)
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); !paths.Within(path, hidden) && entry.Type()&fs.ModeSymlink == 0 {
			beside = append(beside, path)
		}
	}
	return beside, nil
}
