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

// FinishMonitor rechecks the files git acts on, and restores those with harmful changes.
func (c *ChangeMonitor) FinishMonitor() ProtectedChanges {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range c.probes {
		if mode, _ := typeOf(path); mode&os.ModeSymlink != 0 {
			c.notifyNext(mutation.Mutation{Kind: mutation.Remove, Path: path})
			_ = os.Remove(path)
		}
	}
	for path, info := range c.topEntries() {
		before := c.initialTop[path]
		hit, ok := c.files.inside.MatchType(path, info.Mode())
		switch {
		case !ok, c.permitsHit(hit, path):
		case before == nil && !hit.Ask:
			c.quarantine(path)
		case before == nil, !os.SameFile(before, info), !before.ModTime().Equal(info.ModTime()), before.Size() != info.Size():
			c.result.Found = append(c.result.Found, c.files.inside.Name(path))
		}
	}
	for _, dir := range c.moved {
		hits, _ := c.files.inside.Within(dir, dir)
		for _, hit := range hits {
			if c.judged[hit.Path] == nil && !c.permitsHit(hit, hit.Path) {
				c.quarantine(hit.Path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.judged)) {
		c.settleFile(path, c.judged[path])
	}
	for dir := range c.created {
		c.files.made.addRepo(dir)
		c.listEntryPoints(dir)
	}
	slices.Sort(c.result.Brought)
	return c.result
}

// maxBrought limits the listed entry points of new repositories.
const maxBrought = 10

// listEntryPoints lists the entry points of a repository the command created.
func (c *ChangeMonitor) listEntryPoints(dir string) {
	if _, exists := typeOf(filepath.Join(dir, protect.GitDir)); !exists {
		return
	}
	hits, _ := c.files.inside.Within(dir, dir) // uninspectable ones were refused
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
			": protected (workspace.protect), and changed while the command ran, by it or by others")
	}
	return notes
}

// settleFile restores a judged file with a harmful change.
func (c *ChangeMonitor) settleFile(path string, f *judgedFile) {
	if mode, _ := typeOf(path); c.permitsHit(f.hit, path) || f.hit.Inert(path, mode) {
		return
	}
	name := c.files.inside.Name(path)
	now, err := readContent(path, f.created)
	switch {
	case err == nil && c.isHarmless(f, path, now):
		return
	case c.options.Background && !f.created:
		c.result.Found = append(c.result.Found, name)
		return
	}
	c.result.GitRefused = c.result.GitRefused || f.byGit
	c.recordRefusal(mutation.Mutation{}, newChangeRefusal(path, "it was put back, since git runs programs or reads other settings by it"))
	if err := c.restoreFile(path, f); err != nil {
		c.result.Found = append(c.result.Found, name)
	}
}

// restoreFile restores a file's content.
func (c *ChangeMonitor) restoreFile(path string, f *judgedFile) error {
	root, err := openForChange(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(path)
	if f.before == nil && f.created {
		c.notifyNext(mutation.Mutation{Kind: mutation.Remove, Path: path})
		return root.RemoveAll(name)
	}
	c.quarantine(path) // another process may have written it
	if f.before == nil {
		return nil
	}
	c.notifyNext(mutation.Mutation{Kind: mutation.Write, Path: path})
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

// openForChange opens a directory, and makes it writable for its owner if the command made it read-only.
func openForChange(dir string) (*os.Root, error) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o300 != 0o300 {
		_ = os.Chmod(dir, info.Mode().Perm()|0o700)
	}
	return paths.OpenRoot(dir)
}

func (c *ChangeMonitor) notifyNext(m mutation.Mutation) {
	if c.options.Next != nil {
		_ = c.options.Next(m)
	}
}

// quarantine renames a protected path whose creation was not noticed.
func (c *ChangeMonitor) quarantine(path string) {
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
			c.notifyNext(mutation.Mutation{Kind: mutation.Rename, Path: path, To: at})
			if root.Rename(filepath.Base(path), to) == nil {
				c.result.Aside = append(c.result.Aside, inside.Name(at))
				return
			}
			break
		}
	}
	c.result.Found = append(c.result.Found, inside.Name(path))
}

// createdRepos are repositories created by this workspace's commands. Later commands may delete them.
type createdRepos struct {
	mu   sync.Mutex
	dirs map[string]os.FileInfo
}

func (m *createdRepos) addRepo(dir string) {
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

// isCreatedRepo reports whether a protected path is in a repository created by an earlier command.
func (w *Workspace) isCreatedRepo(hit protect.Hit) bool {
	w.made.mu.Lock()
	defer w.made.mu.Unlock()
	made := w.made.dirs[hit.Top]
	info, err := os.Lstat(hit.Top)
	return made != nil && err == nil && os.SameFile(made, info) && !hit.Git()
}
