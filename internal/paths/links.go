package paths

import (
	"os"
	"path/filepath"
)

// Rebase replaces the directory from at the start of a path by to. It returns other paths unchanged, and every path if
// from is empty.
func Rebase(path, from, to string) string {
	if from == "" {
		return path
	}
	if name, ok := Below(from, path); ok {
		return filepath.Join(to, name)
	}
	return path
}

// FindSymlinks returns the symlinks in an absolute path with their resolved targets. Keys are the links' paths with
// resolved parents. It stops before a broken symlink.
func FindSymlinks(path string) map[string]string {
	links := map[string]string{}
	for at := path; len(links) < maxLinks; {
		link := findFirstSymlink(at)
		if link == "" {
			break
		}
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			break
		}
		links[link], at = target, Rebase(at, link, target)
	}
	return links
}

// findFirstSymlink returns the first symlink in a clean absolute path, or "".
func findFirstSymlink(path string) string {
	if dir := filepath.Dir(path); dir != path {
		if link := findFirstSymlink(dir); link != "" {
			return link
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return path
	}
	return ""
}
