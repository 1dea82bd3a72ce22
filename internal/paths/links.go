package paths

import (
	"os"
	"path/filepath"
)

// Rebase returns the path with its beginning from replaced by to, if it lies within from. An empty from replaces
// nothing.
func Rebase(path, from, to string) string {
	if from == "" {
		return path
	}
	if name, ok := Below(from, path); ok {
		return filepath.Join(to, name)
	}
	return path
}

// Links returns the symlinks on the way of an absolute path, by their resolved parents' paths, with the directories
// that they lead to. A path with one that leads nowhere has those before it only.
func Links(path string) map[string]string {
	links := map[string]string{}
	for at := path; len(links) < maxLinks; {
		link := firstLink(at)
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

// firstLink returns the first symlink on the way of a clean absolute path; "" if there is none.
func firstLink(path string) string {
	if dir := filepath.Dir(path); dir != path {
		if link := firstLink(dir); link != "" {
			return link
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return path
	}
	return ""
}
