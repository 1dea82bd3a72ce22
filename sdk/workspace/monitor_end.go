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

// FinishMonitor rechecks protected files after the command, and returns the result. It restores files that the command
// gave harmful content, and reports changes by others. If the kernel reported no changes, it restores all files with
// harmful content and quarantines new files.
func (c *ProtectionEnforcer) FinishMonitor() ProtectedChanges {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishing = true
	for _, path := range c.probes {
		if mode, _ := statFileType(path); mode&os.ModeSymlink != 0 {
			c.notifyNext(mutation.FileMutation{Kind: mutation.Remove, Path: path})
			_ = os.Remove(path)
		}
	}
	for path, info := range c.statTopProtectedFiles() {
		before := c.initialTop[path]
		hit, ok := c.files.inside.MatchWithType(path, info.Mode())
		switch {
		case !ok, c.permitsChange(hit, path):
		case before == nil && !hit.Ask && c.blind:
			c.quarantine(path)
		case before == nil, !os.SameFile(before, info), !before.ModTime().Equal(info.ModTime()), before.Size() != info.Size():
			c.result.Found = append(c.result.Found, c.files.inside.RelativeName(path))
		}
	}
	for _, dir := range c.moved {
		hits, _ := c.files.inside.FindProtectedInTree(dir, dir)
		for _, hit := range hits {
			if c.judged[hit.Path] == nil && !c.permitsChange(hit, hit.Path) {
				c.quarantine(hit.Path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.judged)) {
		c.restoreFileIfHarmful(path, c.judged[path])
	}
	for path := range c.permitted {
		c.detachWriters(path) // the approval ends
	}
	for dir := range c.created {
		c.files.made.addRepo(dir)
		c.addNewRepoProtectedFiles(dir)
	}
	slices.Sort(c.result.EntryPoints)
	return c.result
}

// RestoreHarmfulFiles restores files that the command created in place, and gave harmful content so far. Descriptors of
// the others can change them no longer.
func (c *ProtectionEnforcer) RestoreHarmfulFiles() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(c.judged)) {
		f := c.judged[path]
		if now, err := readContentOrNil(path, false); f.created && err == nil && c.findChangedRisk(f, path, now) != "" {
			c.restoreFileIfHarmful(path, f)
		} else if f.created && now != nil {
			c.detachWriters(path)
		}
	}
}

// maxBrought is the maximum number of listed protected files in new repositories.
const maxBrought = 10

// addNewRepoProtectedFiles adds the protected files of a repository that the command created to the result.
func (c *ProtectionEnforcer) addNewRepoProtectedFiles(dir string) {
	if !protect.IsRepository(dir) {
		return
	}
	hits, _ := c.files.inside.FindProtectedInTree(dir, dir) // uninspectable ones were refused
	for _, hit := range hits {
		if name := c.files.inside.RelativeName(hit.Path); !hit.IsInGitDir() && hit.Top == dir && len(c.result.EntryPoints) < maxBrought {
			c.result.EntryPoints = append(c.result.EntryPoints, name)
		}
	}
}

// FormatNotes returns sentences about the changes.
func (p ProtectedChanges) FormatNotes() (notes []string) {
	for _, reason := range p.Reasons {
		notes = append(notes, "not allowed to change "+reason+" (workspace.protect)")
	}
	if len(p.Aside) > 0 {
		notes = append(notes, "renamed, since it would run later (workspace.protect): now "+strings.Join(p.Aside, ", "))
	}
	if len(p.EntryPoints) > 0 {
		notes = append(notes, "the new repository has files that the user's editors, shells or CI may run; review them: "+
			strings.Join(p.EntryPoints, ", "))
	}
	if len(p.Found) > 0 {
		notes = append(notes, "beware of "+strings.Join(p.Found, ", ")+
			": protected (workspace.protect), but changed during the command, by it or by others")
	}
	return notes
}

// restoreFileIfHarmful restores a file if the command gave it harmful content.
func (c *ProtectionEnforcer) restoreFileIfHarmful(path string, f *riskCheckedFile) {
	if mode, _ := statFileType(path); c.permitsChange(f.hit, path) || f.hit.ProtectsOnlyFilesIn(path, mode) {
		return
	}
	name := c.files.inside.RelativeName(path)
	now, err := readContentOrNil(path, f.created)
	switch {
	case err == nil && c.findChangedRisk(f, path, now) == "":
		return
	case !f.created && (c.options.Background || !c.blind):
		c.result.Found = append(c.result.Found, name)
		return
	}
	c.result.GitRefused = c.result.GitRefused || f.byGit
	c.recordRefusal(mutation.FileMutation{}, newChangeRefusal(path, "it was restored, because git would run programs or read other settings because of it"))
	if err := c.restoreFileContent(path, f); err != nil {
		c.result.Found = append(c.result.Found, name)
	}
}

// restoreFileContent restores the content of a file before the command, and quarantines the changed file.
func (c *ProtectionEnforcer) restoreFileContent(path string, f *riskCheckedFile) error {
	root, err := openWritableDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(path)
	if f.before == nil && f.created {
		c.notifyNext(mutation.FileMutation{Kind: mutation.Remove, Path: path})
		return root.RemoveAll(name)
	}
	c.quarantine(path) // another process may have written it
	if f.before == nil {
		return nil
	}
	c.notifyNext(mutation.FileMutation{Kind: mutation.Write, Path: path})
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

// openWritableDir opens a directory. It adds write permission for the owner if the command removed it.
func openWritableDir(dir string) (*os.Root, error) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o300 != 0o300 {
		_ = os.Chmod(dir, info.Mode().Perm()|0o700)
	}
	return paths.OpenRoot(dir)
}

func (c *ProtectionEnforcer) notifyNext(m mutation.FileMutation) {
	if c.options.Next != nil {
		_ = c.options.Next(m)
	}
}

// quarantine renames a new protected file that the monitor did not see when it was created.
func (c *ProtectionEnforcer) quarantine(path string) {
	if _, exists := statFileType(path); !exists {
		return
	}
	inside := c.files.inside
	if root, err := openWritableDir(filepath.Dir(path)); err == nil && !c.options.Background {
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
			c.notifyNext(mutation.FileMutation{Kind: mutation.Rename, Path: path, To: at})
			if root.Rename(filepath.Base(path), to) == nil {
				c.result.Aside = append(c.result.Aside, inside.RelativeName(at))
				return
			}
			break
		}
	}
	c.result.Found = append(c.result.Found, inside.RelativeName(path))
}

// createdRepos are git repositories that commands of this workspace created. Later commands may delete protected files
// in them.
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

// isInCreatedRepo reports whether a protected path is in a repository that an earlier command created.
func (w *Workspace) isInCreatedRepo(hit protect.ProtectedPath) bool {
	w.made.mu.Lock()
	defer w.made.mu.Unlock()
	made := w.made.dirs[hit.Top]
	info, err := os.Lstat(hit.Top)
	return made != nil && err == nil && os.SameFile(made, info) && !hit.IsInGitDir()
}
