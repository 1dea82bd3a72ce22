// Package paths resolves and compares paths, in the same way for all packages that decide on them or show them. It
// makes no decisions. A result may be outdated a moment later.
package paths

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is the maximum number of symlinks in one path, as in Linux.
const maxLinks = 40

// Resolve follows the symlinks in the longest existing prefix of an absolute path, like the kernel. It keeps the rest
// unchanged. Unlike [filepath.EvalSymlinks] it also follows a symlink with a missing target, because creating the path
// would create the target.
func Resolve(path string) (string, error) { return (*PathResolver)(nil).Resolve(path) }

// PathResolver resolves many paths and caches directory entries. A nil PathResolver caches nothing.
type PathResolver struct {
	// Enter, if not nil, is called with each resolved directory in which a name is looked up. Its error ends Resolve.
	Enter func(dir string) error

	seen map[string]cachedDirEntry
	dirs map[string]resolvedDir // resolved directories, except paths with ".."
}

// cachedDirEntry is the cached result of reading one directory entry.
type cachedDirEntry struct {
	missing bool
	target  string // target of a symlink
	real    string // canonical name on systems where a file has several names; else empty
	err     error
}

func (r *PathResolver) readCachedEntry(path string) cachedDirEntry {
	if r == nil {
		return readEntry(path)
	}
	e, ok := r.seen[path]
	if !ok {
		if e = readEntry(path); r.seen == nil {
			r.seen = make(map[string]cachedDirEntry)
		}
		r.seen[path] = e
	}
	return e
}

// resolvedDir is the resolved path of a directory, which may be missing.
type resolvedDir struct {
	path    string
	missing bool // the directory does not exist
}

// Resolve is the function [Resolve] with caching.
func (r *PathResolver) Resolve(path string) (string, error) {
	if r == nil || strings.Contains(path, "..") {
		real, err := r.followLinks(string(filepath.Separator), path)
		return real.path, err
	}
	real, err := r.resolveFromParent(path)
	return real.path, err
}

// resolveFromParent resolves a clean path by resolving its parent directory first.
func (r *PathResolver) resolveFromParent(path string) (resolvedDir, error) {
	if real, ok := r.dirs[path]; ok {
		return real, nil
	}
	dir, name := filepath.Split(path)
	if name == "" {
		return r.followLinks(string(filepath.Separator), path)
	}
	at, err := r.resolveFromParent(filepath.Clean(dir))
	if err != nil {
		return resolvedDir{}, err
	}
	if at.missing {
		at.path += string(filepath.Separator) + name
	} else if at, err = r.followLinks(at.path, name); err != nil {
		return resolvedDir{}, err
	}
	if r.dirs == nil {
		r.dirs = map[string]resolvedDir{}
	}
	r.dirs[path] = at
	return at, nil
}

// followLinks resolves a path that is relative to a resolved directory.
func (r *PathResolver) followLinks(at, path string) (resolvedDir, error) {
	volume := filepath.VolumeName(path)
	if volume != "" {
		at = volume + string(filepath.Separator)
	}
	missing, links := false, 0
	rest := path[len(volume):]
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if missing {
			at = next
			continue
		}
		if r != nil && r.Enter != nil {
			if err := r.Enter(at); err != nil {
				return resolvedDir{}, err
			}
		}
		e := r.readCachedEntry(next)
		switch {
		case e.err != nil:
			return resolvedDir{}, e.err
		case e.missing:
			at, missing = next, true
			continue
		case e.target == "":
			at = cmp.Or(e.real, next)
			continue
		}
		if links++; links > maxLinks {
			return resolvedDir{}, fmt.Errorf("too many levels of symbolic links at %s", next)
		}
		volume := filepath.VolumeName(e.target)
		if filepath.IsAbs(e.target) {
			at = volume + string(filepath.Separator)
		}
		rest = e.target[len(volume):] + string(filepath.Separator) + rest
	}
	return resolvedDir{at, missing}, nil
}

// Within reports whether path is dir or below it. It compares whole components: /w2 is not within /w. On Windows it
// ignores case.
func Within(dir, path string) bool {
	_, ok := RelativeWithin(dir, path)
	return ok
}

// WithinAny reports whether path is at or below one of dirs.
func WithinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Within(dir, path) })
}

// RelativeWithin returns path relative to dir, "." for dir itself. ok is false if path is not within dir.
func RelativeWithin(dir, path string) (name string, ok bool) {
	if filepath.Separator == '/' && filepath.IsAbs(dir) && filepath.Clean(dir) == dir && filepath.Clean(path) == path {
		rest, ok := strings.CutPrefix(path, dir)
		switch {
		case !ok:
			return "", false
		case rest == "":
			return ".", true
		case dir == "/":
			return rest, true
		case rest[0] == '/':
			return rest[1:], true
		}
		return "", false
	}
	name, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return name, true
}

// ExistingReal returns the paths that exist and contain no symlinks. A whitelist may serve several machines, so paths may
// be missing. Whitelists match resolved paths only, so a path through a symlink never matches.
func ExistingReal(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err != nil || real != path
	})
}

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

// OpenRoot is [os.OpenRoot], but fails for a FIFO instead of waiting for a writer.
func OpenRoot(dir string) (*os.Root, error) {
	return os.OpenRoot(dir + string(filepath.Separator) + ".")
}
