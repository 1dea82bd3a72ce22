//go:build !linux

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// statExactly returns what is at a path if no part of the path is a symbolic link. Where the kernel can't look once,
// the path is walked from the top, each directory opened below the one before and compared with what was seen there.
func statExactly(path string) (os.FileInfo, error) {
	volume := filepath.VolumeName(path) + string(filepath.Separator)
	dir, err := os.OpenRoot(volume)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	for rest, _ := below(volume, path); rest != "."; {
		name, tail := rest, "."
		for i := range rest {
			if os.IsPathSeparator(rest[i]) {
				name, tail = rest[:i], rest[i+1:]
				break
			}
		}
		seen, err := dir.Lstat(name)
		if err != nil {
			return nil, err
		}
		if seen.Mode()&os.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s has become a symbolic link", path)
		}
		if tail == "." && !seen.IsDir() {
			return seen, nil
		}
		next, err := dir.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		_ = dir.Close()
		dir = next
		opened, err := dir.Stat(".")
		if err != nil {
			return nil, err
		}
		if !os.SameFile(seen, opened) {
			return nil, fmt.Errorf("%s was replaced while it was looked at", path)
		}
		rest = tail
	}
	return dir.Stat(".")
}
