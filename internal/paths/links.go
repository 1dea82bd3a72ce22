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
	if name, ok := RelativeWithin(from, path); ok {
		return filepath.Join(to, name)
	}
	return path
}

// SymlinksInPath returns the symlinks in an absolute path with their resolved targets. Keys are the links' paths with
// resolved parents. It stops before a broken symlink.
func SymlinksInPath(path string) map[string]string {
	links := map[string]string{}
	for at := path; len(links) < maxLinks; {
		link := firstSymlinkInPath(at)
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

// firstSymlinkInPath returns the first symlink in a clean absolute path, or "".
func firstSymlinkInPath(path string) string {
	if dir := filepath.Dir(path); dir != path {
		if link := firstSymlinkInPath(dir); link != "" {
			return link
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return path
	}
	return ""
}
