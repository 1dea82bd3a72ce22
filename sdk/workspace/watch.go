package workspace

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// WatchOptions say how a command is watched.
type WatchOptions struct {
	// Agreed allows what a person is to be asked about: one has agreed to the command.
	Agreed bool
	// Unattended leaves what is found at the end, and was not seen when it was made, where it is: in the time that a
	// command in the background takes, somebody else may have made it.
	Unattended bool
	// Next, if not nil, is told of each change that is allowed, and of those that End makes itself.
	Next func(mutation.Mutation) error
}

// Watch keeps a command from what is protected inside the workspace. Who changes files tells it of each change by
// [Watch.Notice] before it is made. It can be used concurrently.
//
// It is no wall: a process that is quick enough can have another change made than the one that was noticed. What exists
// when a sandbox is made is held by the sandbox.
//
// A repository that the command makes is its own while it runs, since git has to write settings and hooks into it. What
// git would run or believe of them is put aside at the end.
type Watch struct {
	files   *Workspace
	options WatchOptions

	mu      sync.Mutex
	made    map[string]bool // what the command has made: directories, and whole repositories
	inspect map[string]bool // what it has made that is looked at in the end
	missing *protect.Missing
	refused []string
}

// Watched is what there is to say of a command that is over. Paths are relative to the workspace.
type Watched struct {
	Refused []string // what the command was not allowed to change
	Aside   []string // what it has made and was put aside, with the name that it has now
	Found   []string // what is there, and is not to be believed
}

// mostRefused is how many paths that were refused are named.
const mostRefused = 10

// Watch begins to watch a command. End it with [Watch.End].
func (w *Workspace) Watch(o WatchOptions) *Watch {
	return &Watch{
		files: w, options: o, made: map[string]bool{}, inspect: map[string]bool{},
		missing: w.watched.missing(w.inside),
	}
}

// Notice refuses a change of what is protected.
func (c *Watch) Notice(m mutation.Mutation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var allowed bool
	switch m.Kind {
	case mutation.Unseen: // by a program that nobody may look into; a path that is too long is none of the protected ones
		allowed = !c.files.Protects() || errors.Is(m.Err, syscall.ENAMETOOLONG) || c.refuse("what can't be looked at")
	case mutation.Rename:
		c.files.watched.forget(m.Path)
		if allowed = c.mayMove(m.Path) && c.mayBring(m.To) && c.mayChange(m.To, false); allowed {
			c.arrive(m.Path, m.To)
		}
	case mutation.Exchange:
		if allowed = c.mayMove(m.Path) && c.mayMove(m.To); allowed {
			c.swap(m.Path, m.To)
		}
	case mutation.Link:
		allowed = (m.Path == "" || c.mayChange(m.Path, false)) && c.mayChange(m.To, true)
	case mutation.Make:
		allowed = c.mayChange(m.Path, true)
	case mutation.Remove:
		allowed = c.files.watched.own(c.files.inside, m.Path) || c.mayChange(m.Path, false)
	default:
		allowed = c.mayChange(m.Path, false)
	}
	switch {
	case !allowed:
		return syscall.EPERM
	case c.options.Next != nil:
		return c.options.Next(m)
	}
	return nil
}

// mayChange decides on a change at a path; making says that something new takes it.
func (c *Watch) mayChange(path string, making bool) bool {
	rules := c.files.inside
	hit, ok := rules.Match(path)
	switch {
	case ok && hit.Ask && c.options.Agreed:
		return true
	case ok && hit.Entry == protect.GitDir:
		info, err := os.Lstat(path)
		if err != nil { // a repository, or a file that leads to one
			c.made[path], c.inspect[path] = true, true
			return true
		}
		return info.IsDir() || c.inspect[path] || c.refuse(hit.Path)
	case ok && c.own(hit, path):
		if hit.Git() {
			c.inspect[path] = true
		}
		return true
	case ok:
		return c.refuse(hit.Path)
	case !making:
		return true
	}
	if _, err := os.Lstat(path); err != nil {
		c.made[path] = true
		if rules.Above(path) {
			c.inspect[path] = true
		}
	}
	return true
}

// mayMove decides on taking what is at a path away from it.
func (c *Watch) mayMove(path string) bool {
	hit, ok := c.files.inside.Match(path)
	switch {
	case !ok && !c.files.inside.Above(path):
		return true
	case ok && hit.Ask && c.options.Agreed, c.fresh(path):
		return true
	}
	if _, err := os.Lstat(path); err != nil {
		return true // it will fail
	}
	return c.refuse(path)
}

// arrive notes that what is at a path takes another one. It may fail to, so it is looked at by both names in the end.
func (c *Watch) arrive(from, to string) {
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return // it will fail
	}
	fresh := c.fresh(from) || filepath.Base(to) == protect.GitDir
	c.also(from, to)
	c.forget(to)
	if fresh {
		c.made[to] = true
	}
}

// swap notes that two paths change places, or fail to.
func (c *Watch) swap(a, b string) {
	c.also(a, b)
	c.also(b, a)
	c.forget(a)
	c.forget(b)
}

// also has what is looked at below a path in the end looked at below another one as well.
func (c *Watch) also(path, other string) {
	for at := range maps.Clone(c.inspect) {
		if inside, ok := paths.Below(path, at); ok {
			c.inspect[filepath.Join(other, inside)] = true
		}
	}
}

// forget forgets that what is at a path was made: something else may come there.
func (c *Watch) forget(path string) {
	c.files.watched.forget(path)
	for at := range c.made {
		if paths.Within(path, at) {
			delete(c.made, at)
		}
	}
}

// mayBring decides on putting something, with all that is in it, on the way to what is protected.
func (c *Watch) mayBring(path string) bool {
	return filepath.Base(path) == protect.GitDir || !c.files.inside.Above(path) || c.fresh(filepath.Dir(path)) || c.refuse(path)
}

// own reports whether a protected path belongs to something that the command has made: a repository, or a directory
// that git keeps for a work tree or a module.
func (c *Watch) own(hit protect.Hit, path string) bool {
	if hit.Git() {
		return c.fresh(filepath.Dir(path))
	}
	return hit.Top != c.files.policy.Workspace && c.fresh(hit.Top)
}

// fresh reports whether something, or a directory above it, was made by the command.
func (c *Watch) fresh(path string) bool {
	for len(path) > len(c.files.policy.Workspace) {
		if c.made[path] {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

func (c *Watch) refuse(path string) bool {
	if name := c.files.inside.Name(path); len(c.refused) < mostRefused && !slices.Contains(c.refused, name) {
		c.refused = append(c.refused, name)
	}
	return false
}

// End looks at what the command has made, and puts aside what git would run or believe.
func (c *Watch) End() Watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Watched{Refused: c.refused}
	for _, path := range c.suspects() {
		c.judge(path, &out)
	}
	if c.missing.Same() {
		return out
	}
	for _, path := range c.missing.Paths {
		hit, ok := c.files.inside.Match(path)
		if _, err := os.Lstat(path); err != nil || !ok || c.own(hit, path) || c.inspect[path] {
			continue
		}
		if c.options.Unattended {
			out.Found = append(out.Found, c.files.inside.Name(path))
			continue
		}
		if root, err := c.files.OpenRoot(filepath.Dir(path)); err == nil {
			c.putAside(root, path, &out)
			_ = root.Close()
		}
	}
	return out
}

// judge puts something aside that the command has made, if it is not what git makes. Of what git goes by a copy takes
// the place: whoever still has the file open, or has another name of it, does not change what was looked at.
func (c *Watch) judge(path string, out *Watched) {
	root, err := c.files.OpenRoot(filepath.Dir(path))
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	m := c.files.look(root, path)
	if !m.credible && !c.putAside(root, path, out) {
		return
	}
	fresh := c.fresh(path)
	if m.credible && fresh {
		c.files.watched.add(path)
	}
	if m.believed && m.text != nil && (fresh || m.linked || !m.credible) {
		c.renew(root, path, m)
	}
}

// renew puts a copy into the place of a file, or where it was.
func (c *Watch) renew(root *os.Root, path string, m made) {
	name := filepath.Base(path)
	temp := name + ".picoclaw-new"
	c.tell(mutation.Mutation{Kind: mutation.Write, Path: path})
	_ = root.Remove(temp)
	err := root.WriteFile(temp, m.text, m.mode|0o600)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
}

func (c *Watch) tell(m mutation.Mutation) {
	if c.options.Next != nil {
		_ = c.options.Next(m)
	}
}

// suspects are what the command has made, and of the repositories among it what is protected in them.
func (c *Watch) suspects() []string {
	var all []string
	for path := range c.inspect {
		all = append(all, path)
		if filepath.Base(path) != protect.GitDir {
			continue
		}
		if found, err := c.files.inside.Find(filepath.Dir(path), false); err == nil {
			all = slices.AppendSeq(all, func(yield func(string) bool) {
				for _, in := range found {
					if hit, _ := c.files.inside.Match(in); hit.Git() && !yield(in) {
						return
					}
				}
			})
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// putAside gives something another name in its directory, and reports whether it is away from its own.
func (c *Watch) putAside(root *os.Root, path string, out *Watched) bool {
	name := filepath.Base(path)
	if info, err := root.Lstat("."); err == nil && info.Mode().Perm()&0o300 != 0o300 {
		_ = root.Chmod(".", info.Mode().Perm()|0o700) // it was closed for that
	}
	for n := range 1000 {
		to := name + ".put-aside"
		if n > 0 {
			to += "-" + strconv.Itoa(n)
		}
		if _, err := root.Lstat(to); err == nil {
			continue
		}
		at := filepath.Join(filepath.Dir(path), to)
		c.tell(mutation.Mutation{Kind: mutation.Rename, Path: path, To: at})
		if err := root.Rename(name, to); err == nil {
			out.Aside = append(out.Aside, c.files.inside.Name(at))
			return true
		}
		break
	}
	if _, err := root.Lstat(name); err != nil {
		return true
	}
	out.Found = append(out.Found, c.files.inside.Name(path))
	return false
}

// own is what commands have made while the workspace is open: repositories, and what git keeps of work trees. Later
// ones may delete it.
type own struct {
	mu    sync.Mutex
	paths map[string]bool
	last  *protect.Missing
}

// missing looks what is protected and not there, if that may have changed since the last time.
func (o *own) missing(rules *protect.Rules) *protect.Missing {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil || !o.last.Same() {
		o.last = rules.Missing()
	}
	return o.last
}

func (o *own) add(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.paths == nil {
		o.paths = map[string]bool{}
	}
	if name := filepath.Base(path); name == "gitdir" || name == "commondir" {
		path = filepath.Dir(path)
	}
	o.paths[path] = true
}

// forget takes out what is at or below a path.
func (o *own) forget(taken string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for path := range o.paths {
		if paths.Within(taken, path) {
			delete(o.paths, path)
		}
	}
}

// own reports whether a protected path is in something of this kind.
func (o *own) own(rules *protect.Rules, path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.paths) == 0 {
		return false
	}
	hit, ok := rules.Match(path)
	if !ok {
		return false
	}
	for at := path; len(at) > len(hit.Top); at = filepath.Dir(at) {
		if o.paths[at] {
			return true
		}
	}
	return o.paths[filepath.Join(hit.Top, protect.GitDir)]
}
