package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// checkSharedGit refuses changes of a git directory outside the workspace that commands in this work tree need not make.
// Undo does not cover the directory.
func (c *ProtectionEnforcer) checkSharedGit(m mutation.FileMutation) error {
	git := c.options.SharedGit
	if git == nil {
		return nil
	}
	for _, path := range []string{m.Path, m.To} {
		if git.BelongsToOthers(path) {
			return newChangeRefusal(path, "it does not belong to this work tree")
		}
		_, exists := statFileType(path)
		isHarmless := m.Kind == mutation.Make || m.Kind == mutation.Attribute || m.Kind == mutation.Link && path == m.To
		isRemoved := path == m.Path && (m.Kind == mutation.Remove || m.Kind == mutation.Rename || m.Kind == mutation.Exchange)
		if exists && (!isHarmless && git.HoldsHistory(path) || isRemoved && git.ListsAllRefs(path)) {
			return newChangeRefusal(path, "the repository's history needs it, and undo does not cover it")
		}
	}
	return nil
}

// checkWrite refuses to open a protected file for writing.
func (c *ProtectionEnforcer) checkWrite(path string) error {
	rules := c.files.inside
	mode, exists := statFileType(path)
	if name, locked := strings.CutSuffix(path, ".lock"); locked {
		if hit, ok := rules.Match(name); ok && hit.ContentRule != "" && exists && !c.createdEntry(path) {
			return newChangeRefusal(path, "git writes it")
		}
		if !exists {
			c.births[path] = time.Now()
		}
	}
	hit, ok := rules.Match(path)
	switch {
	case !ok, c.permitsChange(hit, path), exists && mode.IsDir():
	case hit.ContentRule == "":
		return newProtectedChangeRefusal(hit)
	case c.isEditedInPlace(hit, path):
		if _, err := c.rememberOriginalContent(hit, path, true); err != nil {
			return err
		}
	case exists:
		if known := c.judged[path]; known == nil || !known.created {
			return newChangeRefusal(path, "it is not changed in place, as git mv does with a submodule; replace it, such as with write_file")
		}
	case hit.IsInGitDir() && hit.ContentRule != "gitlink" && !c.createdRepo(hit.Top):
		return newChangeRefusal(path, "it is not created in place; use git, or write_file")
	default:
		if _, err := c.rememberOriginalContent(hit, path, true); err != nil {
			return err
		}
	}
	if exists {
		return nil
	}
	return c.checkAndNoteNewEntry(path, false)
}

// isEditedInPlace reports whether the command may write a file in place, with the content checked at the end. The user
// may continue a rebase at any time, so the command must have begun it.
func (c *ProtectionEnforcer) isEditedInPlace(hit protect.ProtectedPath, path string) bool {
	dir := filepath.Dir(path)
	return hit.IsEditedInPlace() || hit.IsOperationState() && c.created[dir] && c.createdEntry(dir)
}

// createdEntry reports whether the command created a directory, or a lock file, which git may write again before it
// renames it. The user may have created another one at the path since.
func (c *ProtectionEnforcer) createdEntry(path string) bool {
	created, ok := c.births[path]
	info, err := os.Lstat(path)
	if !ok || err != nil {
		return false
	}
	birth := c.files.readCreationTime(path, info)
	return !birth.IsZero() && birth.Before(created.Add(time.Second))
}

// checkCreate refuses to create a directory, symlink, FIFO or socket at a protected path.
func (c *ProtectionEnforcer) checkCreate(path string, isDir bool) error {
	if _, exists := statFileType(path); exists {
		return nil // it fails
	}
	mode := fs.ModeSymlink
	if isDir {
		mode = fs.ModeDir
	}
	hit, ok := c.files.inside.MatchWithType(path, mode)
	switch {
	case !ok, hit.ProtectsOnlyFilesIn(path, mode), isDir && c.permitsChange(hit, path), c.isInOwnRepo(hit):
	case c.permitsChange(hit, path):
		return newSecondPathRefusal(path)
	case hit.Entry == protect.GitDir && !isDir && isSymlinkProbe(filepath.Base(path)):
		c.probes = append(c.probes, path)
	default:
		return newProtectedChangeRefusal(hit)
	}
	return c.checkAndNoteNewEntry(path, isDir)
}

// isSymlinkProbe reports whether a name is one that git init uses to test for symlink support.
func isSymlinkProbe(name string) bool { return len(name) == len("tXXXXXX") && name[0] == 't' }

// checkRemove refuses to delete a protected file or empty directory.
func (c *ProtectionEnforcer) checkRemove(path string) error {
	mode, exists := statFileType(path)
	if !exists {
		return nil
	}
	hit, ok := c.files.inside.MatchWithType(path, mode)
	switch {
	case !ok, hit.ProtectsOnlyFilesIn(path, mode), c.permitsChange(hit, path), c.files.isInCreatedRepo(hit), slices.Contains(c.probes, path):
	case hit.ContentRule == "" || !mode.IsRegular():
		return newProtectedChangeRefusal(hit)
	default:
		before, err := c.rememberOriginalContent(hit, path, false)
		if err != nil || c.findChangedRisk(before, path, nil) != "" {
			return newProtectedChangeRefusal(hit)
		}
	}
	if mode.IsDir() {
		c.noteDirRemoved(path)
	}
	return c.refuseGitDirRemoval(path)
}

// refuseGitDirRemoval refuses to remove the .git of a repository that has other protected files, or an entry without
// which a directory with protected files is no git directory: they would lose their protection.
func (c *ProtectionEnforcer) refuseGitDirRemoval(path string) error {
	top, holdsGitDir := filepath.Dir(path), protect.HoldsGitDir(path)
	if !holdsGitDir && (filepath.Base(path) != protect.GitDir || top == c.files.policy.Workspace) || c.createdRepo(top) {
		return nil
	}
	hits, err := c.files.inside.FindProtectedInTree(top, top)
	if err != nil {
		return newChangeRefusal(path, "%v", err)
	}
	for _, hit := range hits {
		if hit.IsInGitDir() == holdsGitDir && hit.Top == top && !c.permitsChange(hit, hit.Path) && !c.files.isInCreatedRepo(hit) {
			return newProtectedChangeRefusal(hit)
		}
	}
	return nil
}

// checkRename refuses a rename that changes a protected path.
func (c *ProtectionEnforcer) checkRename(from, to string) error {
	mode, exists := statFileType(from)
	if !exists || from == to {
		return nil
	}
	if !mode.IsDir() {
		if err := c.checkRemove(from); err != nil {
			return err
		}
		return c.checkMovedFile(from, to, mode)
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return nil // it fails
	}
	if err := c.checkMovedTree(from, to); err != nil {
		return err
	}
	if err := c.refuseGitDirRemoval(from); err != nil {
		return err
	}
	if err := c.checkAndNoteNewEntry(to, false); err != nil {
		return err
	}
	c.moved = append(c.moved, to)
	var fresh []string // directories that the command created, by their new names
	for dir := range c.created {
		if paths.Within(from, dir) && !c.wasRemoved(to) {
			name := to + strings.TrimPrefix(dir, from)
			fresh = append(fresh, name)
			c.births[name] = c.births[dir]
		}
	}
	c.noteDirRemoved(from)
	c.noteDirRemoved(to)
	for _, dir := range fresh {
		c.notePath(c.created, dir)
	}
	return nil
}

// CheckMoveProtection returns an error if a move of a file or directory would change a protected file.
func (c *ProtectionEnforcer) CheckMoveProtection(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mode, exists := statFileType(from)
	if !exists || !c.files.HasProtectedFiles() {
		return nil
	}
	if !mode.IsDir() {
		return c.checkMovedFile(from, to, mode)
	}
	hits, err := c.files.inside.FindProtectedInTree(from, to)
	if err != nil {
		return newChangeRefusal(to, "%v", err)
	}
	for _, hit := range hits {
		if !c.permitsChange(hit, hit.Path) {
			return newProtectedChangeRefusal(hit)
		}
		if err := c.refuseSecondPaths(hit, from, to); err != nil {
			return err
		}
	}
	return c.checkAndNoteNewEntry(to, false)
}

// refuseSecondPaths refuses to put symlinks and files with several names at a path that a person lets the command change.
// By the second path, later commands could change the protected file unasked. hit is to, or a path above or below it.
func (c *ProtectionEnforcer) refuseSecondPaths(hit protect.ProtectedPath, from, to string) error {
	if c.isInOwnRepo(hit) {
		return nil
	}
	if below, ok := paths.RelativeWithin(to, hit.Path); ok {
		from = filepath.Join(from, below)
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return newChangeRefusal(path, "%v", err)
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return newChangeRefusal(path, "%v", err)
		case info.Mode()&fs.ModeSymlink != 0, info.Mode().IsRegular() && linkCount(info) > 1:
			return newSecondPathRefusal(path)
		}
		return nil
	})
}

func newSecondPathRefusal(path string) error {
	return newChangeRefusal(path, "a protected file may have no second path, even with approval; copy the file instead of linking it")
}

// checkMovedTree refuses to move a directory if protected files in it would change.
func (c *ProtectionEnforcer) checkMovedTree(from, to string) error {
	for _, as := range []string{from, to} {
		hits, err := c.files.inside.FindProtectedInTree(from, as)
		if err != nil {
			return newChangeRefusal(as, "%v", err)
		}
		for _, hit := range hits {
			before := hit // new location of its repository
			if below, ok := paths.RelativeWithin(as, hit.Top); ok {
				before.Top = filepath.Join(from, below)
			}
			switch approved := c.permitsChange(hit, hit.Path); {
			case !approved && (c.wasRemoved(to) || !c.permitsChange(before, hit.Path)):
				return newProtectedChangeRefusal(hit)
			case approved && as == to:
				if err := c.refuseSecondPaths(hit, from, to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkMovedFile refuses to put a file at a protected path.
func (c *ProtectionEnforcer) checkMovedFile(from, to string, mode fs.FileMode) error {
	rules := c.files.inside
	if created, ok := c.births[from]; ok {
		c.births[to] = created
	}
	hit, ok := rules.MatchWithType(to, mode)
	switch {
	case !ok:
	case c.permitsChange(hit, to):
		if err := c.refuseSecondPaths(hit, from, to); err != nil {
			return err
		}
	case hit.ContentRule == "":
		return newProtectedChangeRefusal(hit)
	default:
		before, err := c.rememberOriginalContent(hit, to, false)
		if err != nil {
			return err
		}
		after, err := readContentOrNil(from, true)
		if err != nil {
			return newChangeRefusal(to, "%v", err)
		}
		if risk := c.findChangedRisk(before, to, after); risk != "" {
			return &changeRefusedError{to, fmt.Sprintf("git may run programs or change other files because of %.80q", risk), hit.Ask}
		}
	}
	return c.checkAndNoteNewEntry(to, false)
}

// checkExchange refuses to swap two paths if a protected path would change.
func (c *ProtectionEnforcer) checkExchange(a, b string) error {
	var trees []string
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		mode, exists := statFileType(pair[0])
		if !exists {
			return nil // it fails
		}
		check := c.checkMovedTree
		if mode.IsDir() {
			trees = append(trees, pair[1])
		} else {
			check = func(from, to string) error { return c.checkMovedFile(from, to, mode) }
		}
		if err := check(pair[0], pair[1]); err != nil {
			return err
		}
		if err := c.refuseGitDirRemoval(pair[0]); err != nil {
			return err
		}
	}
	c.noteDirRemoved(a)
	c.noteDirRemoved(b)
	c.notePath(c.removed, a)
	c.notePath(c.removed, b)
	c.moved = append(c.moved, trees...)
	return nil
}

// checkHardLink refuses a hard link to or at a protected path, because the file could be changed through it. from is
// empty for an unnamed file.
func (c *ProtectionEnforcer) checkHardLink(from, to string) error {
	mode, _ := statFileType(from) // a symlink stays one
	for _, path := range []string{from, to} {
		if path == "" {
			continue
		}
		hit, ok := c.files.inside.MatchWithType(path, mode)
		switch {
		case !ok, c.isInOwnRepo(hit):
		case c.permitsChange(hit, path):
			return newSecondPathRefusal(path)
		default:
			return newProtectedChangeRefusal(hit)
		}
	}
	return c.checkAndNoteNewEntry(to, false)
}

// checkMetadataChange refuses to set mode, owner, times or extended attributes of a protected path.
func (c *ProtectionEnforcer) checkMetadataChange(path string) error {
	mode, _ := statFileType(path)
	hit, ok := c.files.inside.MatchWithType(path, mode)
	if !ok || hit.ContentRule == "gitlink" && mode.IsDir() || c.isEditedInPlace(hit, path) || hit.ContentRule == "index" ||
		c.permitsChange(hit, path) || c.createdRepo(hit.Top) {
		return nil
	}
	if known := c.judged[path]; known != nil && known.created {
		return nil
	}
	return newProtectedChangeRefusal(hit)
}
