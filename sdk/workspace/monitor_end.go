package workspace

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// End looks at the files again that git acts on, and puts those back whose change is not harmless.
func (c *ChangeMonitor) End() ProtectedChanges {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range c.probes {
		if mode, _ := typeOf(path); mode&os.ModeSymlink != 0 {
			c.tell(mutation.Mutation{Kind: mutation.Remove, Path: path})
			_ = os.Remove(path)
		}
	}
	for path, info := range c.atTop() {
		before := c.top[path]
		hit, ok := c.files.inside.MatchType(path, info.Mode())
		switch {
		case !ok, c.permits(hit, path):
		case before == nil && !hit.Ask:
			c.putAside(path)
		case before == nil, !os.SameFile(before, info), !before.ModTime().Equal(info.ModTime()), before.Size() != info.Size():
			c.result.Found = append(c.result.Found, c.files.inside.Name(path))
		}
	}
	for _, dir := range c.moved {
		hits, _ := c.files.inside.Within(dir, dir)
		for _, hit := range hits {
			if c.judged[hit.Path] == nil && !c.permits(hit, hit.Path) {
				c.putAside(hit.Path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.judged)) {
		c.settle(path, c.judged[path])
	}
	for dir := range c.fresh {
		c.files.made.add(dir)
		c.nameBrought(dir)
	}
	slices.Sort(c.result.Brought)
	return c.result
}

// maxBrought is how many entry points of new repositories are named.
const maxBrought = 10

// nameBrought names the entry points in a directory that the command made, if it is a repository.
func (c *ChangeMonitor) nameBrought(dir string) {
	if _, exists := typeOf(filepath.Join(dir, protect.GitDir)); !exists {
		return
	}
	hits, _ := c.files.inside.Within(dir, dir) // without those that cannot be inspected, which End has refused
	for _, hit := range hits {
		if name := c.files.inside.Name(hit.Path); !hit.Git() && hit.Top == dir && len(c.result.Brought) < maxBrought {
			c.result.Brought = append(c.result.Brought, name)
		}
	}
}

// Notes returns sentences about the attempts.
func (p ProtectedChanges) Notes() (notes []string) {
	for _, reason := range p.Reasons {
		notes = append(notes, "not allowed to change "+reason+" (workspace.protect)")
	}
	if len(p.Aside) > 0 {
		notes = append(notes, "renamed, since it would run later (workspace.protect): now "+strings.Join(p.Aside, ", "))
	}
	if len(p.Brought) > 0 {
		notes = append(notes, "the new repository has files that the user's editors, shells or CI may run; review them: "+
			strings.Join(p.Brought, ", "))
	}
	if len(p.Found) > 0 {
		notes = append(notes, "beware of "+strings.Join(p.Found, ", ")+
			": changed while the command ran, by it or by somebody else, and protected (workspace.protect)")
	}
	return notes
}

// settle puts a judged file back if its change is not harmless.
func (c *ChangeMonitor) settle(path string, f *judgedFile) {
	if mode, _ := typeOf(path); c.permits(f.hit, path) || f.hit.Inert(path, mode) {
		return
	}
	name := c.files.inside.Name(path)
	now, err := content(path, f.own)
	switch {
	case err == nil && c.keeps(f, path, now):
		return
	case c.options.Background && !f.own:
		c.result.Found = append(c.result.Found, name)
		return
	}
	c.result.GitRefused = c.result.GitRefused || f.byGit
	c.refuse(mutation.Mutation{}, refuse(path, "it was put back, since git runs programs or reads other settings by it"))
	if err := c.restore(path, f); err != nil {
		c.result.Found = append(c.result.Found, name)
	}
}

// restore gives a file its content back.
func (c *ChangeMonitor) restore(path string, f *judgedFile) error {
	root, err := openForChange(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(path)
	if f.before == nil && f.own {
		c.tell(mutation.Mutation{Kind: mutation.Remove, Path: path})
		return root.RemoveAll(name)
	}
	c.putAside(path) // somebody else may have written it
	if f.before == nil {
		return nil
	}
	c.tell(mutation.Mutation{Kind: mutation.Write, Path: path})
	temp := name + ".picoclaw-new"
	_ = root.Remove(temp)
	if err = root.WriteFile(temp, f.before, f.mode); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// openForChange opens a directory, and makes it its owner's to change if the command closed it.
func openForChange(dir string) (*os.Root, error) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o300 != 0o300 {
		_ = os.Chmod(dir, info.Mode().Perm()|0o700)
	}
	return paths.OpenRoot(dir)
}

func (c *ChangeMonitor) tell(m mutation.Mutation) {
	if c.options.Next != nil {
		_ = c.options.Next(m)
	}
}

// putAside renames a protected path that nobody saw the command make.
func (c *ChangeMonitor) putAside(path string) {
	if _, exists := typeOf(path); !exists {
		return
	}
	inside := c.files.inside
	if root, err := openForChange(filepath.Dir(path)); err == nil && !c.options.Background {
		defer func() { _ = root.Close() }()
		for n := range 100 {
			to := filepath.Base(path) + ".put-aside"
			if n > 0 {
				to += "-" + strconv.Itoa(n)
			}
			if _, err := root.Lstat(to); err == nil {
				continue
			}
			at := filepath.Join(filepath.Dir(path), to)
			c.tell(mutation.Mutation{Kind: mutation.Rename, Path: path, To: at})
			if root.Rename(filepath.Base(path), to) == nil {
				c.result.Aside = append(c.result.Aside, inside.Name(at))
				return
			}
			break
		}
	}
	c.result.Found = append(c.result.Found, inside.Name(path))
}

// madeDirs are the directories that commands of this workspace have made. Later ones may delete them whole.
type madeDirs struct {
	mu   sync.Mutex
	dirs map[string]os.FileInfo
}

func (m *madeDirs) add(dir string) {
	_, err := os.Lstat(filepath.Join(dir, protect.GitDir))
	info, statErr := os.Lstat(dir)
	if err != nil || statErr != nil {
		return // no repository
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirs == nil {
		m.dirs = map[string]os.FileInfo{}
	}
	m.dirs[dir] = info
}

// madeBefore reports whether a protected path belongs to a repository that an earlier command made.
func (w *Workspace) madeBefore(hit protect.Hit) bool {
	w.made.mu.Lock()
	defer w.made.mu.Unlock()
	made := w.made.dirs[hit.Top]
	info, err := os.Lstat(hit.Top)
	return made != nil && err == nil && os.SameFile(made, info) && !hit.Git()
}
