package undo

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// openDirs opens directories to their owner that the operation closed, or that it found closed.
func (u *undoing) openDirs() error {
	wanted := map[string]bool{}
	for _, s := range u.steps {
		if s.blocked != "" || s.done {
			continue
		}
		if s.Dir != none {
			wanted[u.dirPath(s.Dir)] = true
		}
		if s.After != none && u.Objects[s.After].isDir() {
			wanted[s.at] = true
		}
	}
	for path := range maps.Clone(wanted) {
		for dir := filepath.Dir(path); len(dir) > len(u.files.Dir()); dir = filepath.Dir(dir) {
			wanted[dir] = true
		}
	}
	paths := make([]string, 0, len(wanted))
	for path := range wanted {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, comparePaths)
	for _, path := range paths {
		parent := u.dirs.openDir(filepath.Dir(path))
		if parent == nil {
			continue // one that the policy opens as a whole
		}
		name := filepath.Base(path)
		n, err := parent.statName(name)
		if err == nil && n != nil && n.Mode.IsDir() && n.Mode&0o700 != 0o700 {
			u.noticeChange(mutation.Attribute, path, "")
			err = parent.root.Chmod(name, modeBits(n.Mode)|0o700)
			u.opened[path] = n.Mode
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
	}
	for _, o := range u.Objects {
		if mode, ok := u.opened[string(o.Now)]; ok && o.isDir() {
			u.modes[o.index] = mode
		}
	}
	u.dirs.closeAll()
	return nil
}

// closeOpened gives the other directories their modes back that were opened on the way, the innermost first.
func (u *undoing) closeOpened() {
	paths := slices.Collect(maps.Keys(u.opened))
	slices.SortFunc(paths, func(a, b string) int { return comparePaths(b, a) })
	for _, path := range paths {
		parent, mode := u.dirs.openDir(filepath.Dir(path)), u.opened[path]
		if parent == nil {
			continue
		}
		name := filepath.Base(path)
		if n, err := parent.statName(name); err == nil && n != nil && n.Mode == mode|0o700 {
			u.noticeChange(mutation.Attribute, path, "")
			_ = parent.root.Chmod(name, modeBits(mode))
		}
	}
}
