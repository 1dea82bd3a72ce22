package protect

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// depth is how far below a directory repositories are looked for.
const depth = 2

// Find returns what is protected at or below a directory of the workspace, as far as it exists: in it, and in the
// repositories down to two directories deeper. Symbolic links are not followed, and are left out.
func (r *Rules) Find(dir string, ask bool) ([]string, error) {
	if r == nil {
		return nil, nil
	}
	var found []string
	err := r.find(dir, ask, 0, &found)
	slices.Sort(found)
	return slices.Compact(found), err
}

func (r *Rules) find(dir string, ask bool, level int, found *[]string) error {
	entries, err := readDir(dir)
	if err != nil {
		return err
	}
	top := dir == r.dir
	for _, e := range entries {
		top = top || e.Name() == GitDir
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if top {
			if err := r.expand(dir, e, ask, found); err != nil {
				return err
			}
		}
		if e.IsDir() && e.Name() != GitDir && level < depth {
			if err := r.find(at, ask, level+1, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand adds what the entries that begin with a name in a directory stand for.
func (r *Rules) expand(dir string, first fs.DirEntry, ask bool, found *[]string) error {
	for _, e := range r.entries[strings.ToLower(first.Name())] {
		if e.ask && !ask || e.text == GitDir && first.IsDir() {
			continue
		}
		at := []string{filepath.Join(dir, first.Name())}
		for _, pattern := range e.parts[1:] {
			var next []string
			for _, dir := range at {
				names, err := readDir(dir)
				if err != nil {
					return err
				}
				for _, n := range names {
					if ok, _ := path.Match(pattern, strings.ToLower(n.Name())); ok && n.Type()&fs.ModeSymlink == 0 {
						next = append(next, filepath.Join(dir, n.Name()))
					}
				}
			}
			at = next
		}
		if first.Type()&fs.ModeSymlink == 0 {
			*found = append(*found, at...)
		}
	}
	return nil
}

// readDir lists a directory; what is none, is gone or is closed to this user has nothing in it.
func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err != nil && !isDir(dir) {
		return nil, nil
	}
	return entries, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
