// Package paths says where paths lead and what lies within what: one answer for all who decide on paths or show them.
// It decides nothing, and what it has found may be another thing a moment later.
package paths

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links one path may go through; Linux allows as many.
const maxLinks = 40

// Resolve follows the symbolic links of the longest existing prefix of an absolute path, the way the kernel would,
// and keeps the rest as it is. Unlike [filepath.EvalSymlinks] it also follows a link whose target doesn't exist,
// because creating the path would create the target.
func Resolve(path string) (string, error) { return (*Resolver)(nil).Resolve(path) }

// Resolver is for many paths at one time: it remembers what it has looked up. A nil one does not.
type Resolver struct {
	seen map[string]pathEntry
	dirs map[string]resolvedDir // the paths that are resolved already, but for those with steps to the parent
}

// pathEntry is a file system entry.
type pathEntry struct {
	missing bool
	target  string // of a symbolic link
	real    string // what the system calls it, where one file has several names; else empty
	err     error
}

// lookUp reads a directory entry, cached.
func (r *Resolver) lookUp(path string) pathEntry {
	if r == nil {
		return lookUp(path)
	}
	e, ok := r.seen[path]
	if !ok {
		if e = lookUp(path); r.seen == nil {
			r.seen = make(map[string]pathEntry)
		}
		r.seen[path] = e
	}
	return e
}

// resolvedDir is a directory with its resolved path.
type resolvedDir struct {
	path    string
	missing bool // there is no such directory, and so nothing in it
}

// Resolve is like the function, from the longest beginning of the path that is resolved already.
func (r *Resolver) Resolve(path string) (string, error) {
	if r == nil || strings.Contains(path, "..") {
		real, err := r.followLinks(string(filepath.Separator), path)
		return real.path, err
	}
	real, err := r.resolveStep(path)
	return real.path, err
}

// resolveStep resolves a clean path from its parent directory.
func (r *Resolver) resolveStep(path string) (resolvedDir, error) {
	if real, ok := r.dirs[path]; ok {
		return real, nil
	}
	dir, name := filepath.Split(path)
	if name == "" {
		return r.followLinks(string(filepath.Separator), path)
	}
	at, err := r.resolveStep(filepath.Clean(dir))
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

// followLinks resolves a path that begins at a resolved directory.
func (r *Resolver) followLinks(at, path string) (resolvedDir, error) {
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
		e := r.lookUp(next)
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

// Within reports whether path is dir or lies below it, component by component: /w2 is not within /w. On Windows the
// case of letters does not count.
func Within(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// WithinAny reports whether path is one of dirs or lies below one of them.
func WithinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Within(dir, path) })
}

// Below returns the name that path has in dir, "." for dir itself, and reports whether it is [Within] dir.
func Below(dir, path string) (name string, ok bool) {
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
