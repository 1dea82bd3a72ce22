package undo

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// makeDirsAccessible adds owner permissions to every directory that the undo needs and can't enter.
func (u *undoRun) makeDirsAccessible() error {
	wanted := map[string]bool{}
	for _, s := range u.steps {
		if s.blocked != "" || s.done {
			continue
		}
		if s.Dir != none {
			wanted[u.currentDirPath(s.Dir)] = true
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
			u.recordChange(mutation.Attribute, path, "")
			if err = parent.root.Chmod(name, settableDirMode(n.Mode)|0o700); err == nil {
				u.opened[path] = n.Mode
			}
		}
		if endsUndo(err) { // after other errors, the steps in the directory are conflicts
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

// restoreOtherDirModes restores the modes of directories that undo opened but does not otherwise restore, innermost
// first.
func (u *undoRun) restoreOtherDirModes() {
	paths := slices.Collect(maps.Keys(u.opened))
	slices.SortFunc(paths, func(a, b string) int { return comparePaths(b, a) })
	for _, path := range paths {
		parent, mode := u.dirs.openDir(filepath.Dir(path)), u.opened[path]
		if parent == nil {
			continue
		}
		name := filepath.Base(path)
		if n, err := parent.statName(name); err == nil && n != nil && n.Mode == mode|0o700 {
			u.recordChange(mutation.Attribute, path, "")
			_ = parent.root.Chmod(name, settableDirMode(mode))
		}
	}
}
