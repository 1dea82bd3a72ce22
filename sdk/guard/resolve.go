package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may go through; Linux allows as many.
const maxLinks = 40

// resolve follows the symbolic links of the longest existing prefix of an absolute path, the way the kernel would,
// and keeps the rest as it is. Unlike [filepath.EvalSymlinks] it also follows a link whose target doesn't exist,
// because creating the path would create the target.
func resolve(path string) (string, error) { return (*resolver)(nil).resolve(path) }

// resolver is for the many paths of one command: it remembers what it has looked up, and what is open to commands alone.
// A nil one does neither.
type resolver struct {
	seen map[string]entry
	dirs map[string]string // the directories that are resolved already
	home string            // [ExecPolicy.Home], symbolic links resolved
}

// entry is what a name in the file system stands for.
type entry struct {
	missing bool
	target  string // of a symbolic link
	err     error
}

// look looks a name up.
func (r *resolver) look(path string) entry {
	if r == nil {
		return look(path)
	}
	e, ok := r.seen[path]
	if !ok {
		if e = look(path); r.seen == nil {
			r.seen = make(map[string]entry)
		}
		r.seen[path] = e
	}
	return e
}

func look(path string) (e entry) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.missing = true
	case err != nil:
		e.err = err
	case info.Mode()&fs.ModeSymlink != 0:
		e.target, e.err = os.Readlink(path)
	}
	return e
}

// resolve resolves a path from the longest beginning of it that is resolved already.
func (r *resolver) resolve(path string) (string, error) {
	if r == nil || strings.Contains(path, "..") {
		return r.follow(string(filepath.Separator), path, 0)
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if name == "" || dir == path {
		return r.follow(string(filepath.Separator), path, 0)
	}
	real, ok := r.dirs[dir]
	if !ok {
		var err error
		if real, err = r.resolve(dir); err != nil {
			return "", err
		}
		if r.dirs == nil {
			r.dirs = map[string]string{}
		}
		r.dirs[dir] = real
	}
	return r.follow(real, name, 0)
}

// follow resolves a path that begins at a directory which is resolved; links is how many led there.
func (r *resolver) follow(at, path string, links int) (string, error) {
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	if volume != "" {
		at = root
	}
	missing := false
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
		e := r.look(next)
		switch {
		case e.err != nil:
			return "", e.err
		case e.missing:
			at, missing = next, true
			continue
		case e.target == "":
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("too many levels of symbolic links at %s", next)
		}
		if filepath.IsAbs(e.target) {
			at = root
		}
		rest = e.target[len(filepath.VolumeName(e.target)):] + string(filepath.Separator) + rest
	}
	return at, nil
}

// within reports whether path is dir or below it, component by component: /w2 is not within /w.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// withinAny reports whether path is one of the directories or below one of them.
func withinAny(dirs []string, path string) bool {
	for _, dir := range dirs {
		if within(dir, path) {
			return true
		}
	}
	return false
}
