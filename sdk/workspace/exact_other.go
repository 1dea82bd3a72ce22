//go:build !linux

package workspace

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// dirOnlyFlag has no effect on this system.
const dirOnlyFlag = 0

// openNoSymlinks opens a path and fails if any component is a symlink.
func openNoSymlinks(path string, flags int) (*os.File, error) {
	dir, err := openDirNoSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Base(path)
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err != nil || !os.SameFile(seen, opened) {
		_ = f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", path)
	}
	return f, nil
}

// statNoSymlinks describes the file at a path and fails if any component is a symlink.
func statNoSymlinks(path string) (os.FileInfo, error) {
	if path == filepath.Dir(path) {
		return os.Stat(path)
	}
	dir, err := openDirNoSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	info, err := dir.Lstat(filepath.Base(path))
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s has become a symbolic link", path)
	}
	return info, err
}

// openDirNoSymlinks opens a directory component by component. It compares each opened directory with the earlier stat
// result, so it detects symlinks.
func openDirNoSymlinks(path string) (*os.Root, error) {
	volume := filepath.VolumeName(path) + string(filepath.Separator)
	dir, err := os.OpenRoot(volume)
	if err != nil {
		return nil, err
	}
	rest, _ := paths.RelativeWithin(volume, path)
	for rest != "." {
		name, tail := rest, "."
		for i := range rest {
			if os.IsPathSeparator(rest[i]) {
				name, tail = rest[:i], rest[i+1:]
				break
			}
		}
		next, err := openSubdir(dir, name)
		_ = dir.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		dir, rest = next, tail
	}
	return dir, nil
}

func openSubdir(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		_ = next.Close()
		return nil, fmt.Errorf("%s was replaced while it was looked at", name)
	}
	return next, nil
}
