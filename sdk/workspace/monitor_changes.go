package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// decideWrite decides on opening a file for writing.
func (c *ChangeMonitor) decideWrite(path string) error {
	rules := c.files.inside
	mode, exists := typeOf(path)
	if name, locked := strings.CutSuffix(path, ".lock"); locked && exists {
		if hit, ok := rules.Match(name); ok && hit.Judge != "" {
			return newChangeRefusal(path, "git writes it, and nobody opens it again")
		}
	}
	hit, ok := rules.Match(path)
	switch {
	case !ok, c.permitsHit(hit, path), exists && mode.IsDir():
	case hit.Judge == "":
		return refuseEntry(hit)
	case hit.Loose():
		if _, err := c.rememberFile(hit, path, true); err != nil {
			return err
		}
	case exists:
		if known := c.judged[path]; known == nil || !known.created {
			return newChangeRefusal(path, "it is not changed in place; use git config, or write_file")
		}
	case hit.Git() && hit.Judge != "gitlink" && !c.isCreated(hit.Top):
		return newChangeRefusal(path, "it is not made in place; use git config, or write_file")
	default:
		if _, err := c.rememberFile(hit, path, true); err != nil {
			return err
		}
	}
	if exists {
		return nil
	}
	return c.addEntry(path, false)
}

// decideCreate decides on creating a directory, symlink, FIFO or socket.
func (c *ChangeMonitor) decideCreate(path string, isDir bool) error {
	if _, exists := typeOf(path); exists {
		return nil // it fails
	}
	mode := fs.ModeSymlink
	if isDir {
		mode = fs.ModeDir
	}
	hit, ok := c.files.inside.MatchType(path, mode)
	switch {
	case !ok, hit.Inert(path, mode), c.permitsHit(hit, path):
	case hit.Entry == protect.GitDir && !isDir && isSymlinkProbe(filepath.Base(path)):
		c.probes = append(c.probes, path)
	default:
		return refuseEntry(hit)
	}
	return c.addEntry(path, isDir)
}

// isSymlinkProbe reports whether git init uses a name to test for symlink support.
func isSymlinkProbe(name string) bool { return len(name) == len("tXXXXXX") && name[0] == 't' }

// decideRemove decides on deleting a file or an empty directory.
func (c *ChangeMonitor) decideRemove(path string) error {
	mode, exists := typeOf(path)
	if !exists {
		return nil
	}
	hit, ok := c.files.inside.MatchType(path, mode)
	switch {
	case !ok, hit.Inert(path, mode), c.permitsHit(hit, path), c.files.isCreatedRepo(hit), slices.Contains(c.probes, path):
	case hit.Judge == "" || !mode.IsRegular():
		return refuseEntry(hit)
	default:
		before, err := c.rememberFile(hit, path, false)
		if err != nil || !c.isHarmless(before, path, nil) {
			return refuseEntry(hit)
		}
	}
	if mode.IsDir() {
		c.removeDir(path)
	}
	return c.keepGitDir(path)
}

// keepGitDir refuses to remove a repository's .git while it has other entry points.
func (c *ChangeMonitor) keepGitDir(path string) error {
	top := filepath.Dir(path)
	if filepath.Base(path) != protect.GitDir || top == c.files.policy.Workspace || c.isCreated(top) {
		return nil
	}
	hits, err := c.files.inside.Within(top, top)
	if err != nil {
		return newChangeRefusal(path, "%v", err)
	}
	for _, hit := range hits {
		if !hit.Git() && hit.Top == top && !c.permitsHit(hit, hit.Path) && !c.files.isCreatedRepo(hit) {
			return refuseEntry(hit)
		}
	}
	return nil
}

// decideRename decides on renaming a file.
func (c *ChangeMonitor) decideRename(from, to string) error {
	mode, exists := typeOf(from)
	if !exists || from == to {
		return nil
	}
	if !mode.IsDir() {
		if err := c.decideRemove(from); err != nil {
			return err
		}
		return c.decidePlace(from, to, mode)
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return nil // it fails
	}
	if err := c.decideMoveTree(from, to); err != nil {
		return err
	}
	if err := c.keepGitDir(from); err != nil {
		return err
	}
	if err := c.addEntry(to, false); err != nil {
		return err
	}
	c.moved = append(c.moved, to)
	fresh := c.isCreated(from) && !c.wasRemoved(to)
	c.removeDir(from)
	c.removeDir(to)
	if fresh {
		c.created[to] = true
	}
	return nil
}

// CheckPlacement refuses to put the file or directory at from at the path to, if that changes an entry point.
func (c *ChangeMonitor) CheckPlacement(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mode, exists := typeOf(from)
	if !exists || !c.files.HasProtected() {
		return nil
	}
	if !mode.IsDir() {
		return c.decidePlace(from, to, mode)
	}
	hits, err := c.files.inside.Within(from, to)
	if err != nil {
		return newChangeRefusal(to, "%v", err)
	}
	for _, hit := range hits {
		if !c.permitsHit(hit, hit.Path) {
			return refuseEntry(hit)
		}
	}
	return c.addEntry(to, false)
}

// decideMoveTree decides on the entry points in a moved directory.
func (c *ChangeMonitor) decideMoveTree(from, to string) error {
	for _, as := range []string{from, to} {
		hits, err := c.files.inside.Within(from, as)
		if err != nil {
			return newChangeRefusal(as, "%v", err)
		}
		for _, hit := range hits {
			before := hit // new location of its repository
			if below, ok := paths.Below(as, hit.Top); ok {
				before.Top = filepath.Join(from, below)
			}
			if !c.permitsHit(hit, hit.Path) && (c.wasRemoved(to) || !c.permitsHit(before, hit.Path)) {
				return refuseEntry(hit)
			}
		}
	}
	return nil
}

// decidePlace decides on putting a file at a path.
func (c *ChangeMonitor) decidePlace(from, to string, mode fs.FileMode) error {
	rules := c.files.inside
	hit, ok := rules.MatchType(to, mode)
	switch {
	case !ok, c.permitsHit(hit, to):
	case hit.Judge == "":
		return refuseEntry(hit)
	default:
		before, err := c.rememberFile(hit, to, false)
		if err != nil {
			return err
		}
		after, err := readContent(from, true)
		if err != nil {
			return newChangeRefusal(to, "%v", err)
		}
		if !c.isHarmless(before, to, after) {
			return newChangeRefusal(to, "it would have settings by which git runs programs or reads others; "+
				"name it in protected_paths to ask a person")
		}
	}
	return c.addEntry(to, false)
}

// decideExchange decides on exchanging two paths.
func (c *ChangeMonitor) decideExchange(a, b string) error {
	var trees []string
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		mode, exists := typeOf(pair[0])
		if !exists {
			return nil // it fails
		}
		check := c.decideMoveTree
		if mode.IsDir() {
			trees = append(trees, pair[1])
		} else {
			check = func(from, to string) error { return c.decidePlace(from, to, mode) }
		}
		if err := check(pair[0], pair[1]); err != nil {
			return err
		}
		if err := c.keepGitDir(pair[0]); err != nil {
			return err
		}
	}
	c.removeDir(a)
	c.removeDir(b)
	c.removed[a], c.removed[b] = true, true
	c.moved = append(c.moved, trees...)
	return nil
}

// decideLink decides on a hard link, through which the file could be changed. from is empty for an unnamed file.
func (c *ChangeMonitor) decideLink(from, to string) error {
	for _, path := range []string{from, to} {
		if path == "" {
			continue
		}
		if hit, ok := c.files.inside.Match(path); ok && !c.permitsHit(hit, path) {
			return refuseEntry(hit)
		}
	}
	return c.addEntry(to, false)
}

// decideAttribute decides on setting mode, owner, times or extended attributes.
func (c *ChangeMonitor) decideAttribute(path string) error {
	mode, _ := typeOf(path)
	hit, ok := c.files.inside.MatchType(path, mode)
	if !ok || hit.Judge == "gitlink" && mode.IsDir() || hit.Loose() || c.permitsHit(hit, path) || c.isCreated(path) {
		return nil
	}
	if known := c.judged[path]; known != nil && known.created {
		return nil
	}
	return refuseEntry(hit)
}
