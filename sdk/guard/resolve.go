package guard

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxLinks is how many symbolic links one path may go through; Linux allows as many.
const maxLinks = 40

// resolve follows the symbolic links of the longest existing prefix of an absolute path, the way the kernel would,
// and keeps the rest as it is. Unlike [filepath.EvalSymlinks] it also follows a link whose target doesn't exist,
// because creating the path would create the target.
func resolve(path string) (string, error) { return (*resolver)(nil).resolve(path) }

// memory is what commands are decided on in, one at a time.
type memory struct {
	shell    shell.Memory
	programs programs.Memory
	paths    paths.Joiner
	seen     map[string]entry
}

// memory returns one that nobody else uses.
func (g *Guard) memory() *memory {
	if m, ok := g.memories.Get().(*memory); ok {
		return m
	}
	return &memory{seen: map[string]entry{}}
}

// maxSeen is how many names of the file system a memory may have held for it to be used again.
const maxSeen = 1024

// release gives a memory back. Nothing may refer to what is in it any more.
func (g *Guard) release(m *memory) {
	if len(m.seen) > maxSeen {
		return
	}
	clear(m.seen)
	m.shell.Reset()
	m.programs.Reset()
	g.memories.Put(m)
}

// resolver is for the many paths of one command: it remembers what it has looked up, and what is open to commands alone.
// A nil one does neither.
type resolver struct {
	seen  map[string]entry
	paths *paths.Joiner
	home  string // [ExecPolicy.Home], symbolic links resolved

	// A directory with nothing but directories on its way, where most of the paths begin; "" if there is none such.
	base string
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

// begin has paths that begin with a directory resolved from there, if that is what the system calls it.
func (r *resolver) begin(dir string) {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if e := r.look(at); e.missing || e.err != nil || e.target != "" {
			return
		}
	}
	if dir != filepath.Dir(dir) && filepath.Clean(dir) == dir {
		r.base = dir
	}
}

// above is the directory above one, if the system finds it there, too: without a symbolic link on the way; else "".
func (r *resolver) above(dir string) string {
	if real, err := r.resolve(dir); err != nil || real != dir {
		return ""
	}
	return filepath.Dir(dir)
}

func (r *resolver) resolve(path string) (string, error) {
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	rest := path[len(volume):]
	at, links := root, 0
	if r != nil && r.base != "" {
		if below, ok := strings.CutPrefix(path, r.base); ok && below == "" {
			return path, nil
		} else if ok && below[0] == filepath.Separator {
			at, rest = r.base, below[1:]
		}
	}
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
		next := below(at, name, path)
		e := r.look(next)
		switch {
		case e.err != nil:
			return "", e.err
		case e.missing && rest == "":
			return next, nil
		case e.missing && len(next)+1+len(rest) == len(path) && strings.HasPrefix(path, next):
			return paths.Cleaned(path), nil // no link was followed
		case e.missing:
			return filepath.Join(next, rest), nil
		case e.target == "":
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("too many levels of symbolic links at %s", next)
		}
		target := e.target
		if filepath.IsAbs(target) {
			at = root
		}
		rest = target[len(filepath.VolumeName(target)):] + string(filepath.Separator) + rest
	}
	return at, nil
}

// below is the path of a name in a directory: a part of the whole path that is resolved, as long as that is it. Directory and
// name are clean. To clean the whole again for each name would take a time that grows with its square.
func below(dir, name, whole string) string {
	dir = strings.TrimSuffix(dir, string(filepath.Separator))
	if n := len(dir) + 1 + len(name); n <= len(whole) && whole[:len(dir)] == dir && whole[len(dir)] == filepath.Separator && whole[len(dir)+1:n] == name {
		return whole[:n]
	}
	return dir + string(filepath.Separator) + name
}

// within says whether path is dir or below it, component by component: /w2 is not within /w.
func within(dir, path string) bool {
	if exact(dir) && exact(path) {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == filepath.Separator || dir == "/")
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// exact says whether a path is certainly absolute and clean, so that another such is below it if and only if it begins with it.
func exact(path string) bool {
	return filepath.Separator == '/' && path != "" && path[0] == '/' && (path == "/" || paths.Clean(path[1:]))
}

// withinAny says whether path is one of the directories or below one of them.
func withinAny(dirs []string, path string) bool {
	for _, dir := range dirs {
		if within(dir, path) {
			return true
		}
	}
	return false
}
