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

// write decides on opening a file for writing.
func (c *ChangeMonitor) write(path string) error {
	rules := c.files.inside
	mode, exists := typeOf(path)
	if name, locked := strings.CutSuffix(path, ".lock"); locked && exists {
		if hit, ok := rules.Match(name); ok && hit.Judge != "" {
			return refuse(path, "git writes it, and nobody opens it again")
		}
	}
	hit, ok := rules.Match(path)
	switch {
	case !ok, c.permits(hit, path), exists && mode.IsDir():
	case hit.Judge == "":
		return byEntry(hit)
	case hit.Loose():
		if _, err := c.remember(hit, path, true); err != nil {
			return err
		}
	case exists:
		if known := c.judged[path]; known == nil || !known.own {
			return refuse(path, "it is not changed in place; use git config, or write_file")
		}
	case hit.Git() && hit.Judge != "gitlink" && !c.isFresh(hit.Top):
		return refuse(path, "it is not made in place; use git config, or write_file")
	default:
		if _, err := c.remember(hit, path, true); err != nil {
			return err
		}
	}
	if exists {
		return nil
	}
	return c.add(path, false)
}

// make decides on making a directory, a symlink, a FIFO or a socket.
func (c *ChangeMonitor) make(path string, isDir bool) error {
	if _, exists := typeOf(path); exists {
		return nil // it fails
	}
	mode := fs.ModeSymlink
	if isDir {
		mode = fs.ModeDir
	}
	hit, ok := c.files.inside.MatchType(path, mode)
	switch {
	case !ok, hit.Inert(path, mode), c.permits(hit, path):
	case hit.Entry == protect.GitDir && !isDir && isProbe(filepath.Base(path)):
		c.probes = append(c.probes, path)
	default:
		return byEntry(hit)
	}
	return c.add(path, isDir)
}

// isProbe reports whether a name is one by which git init tries whether symlinks can be made. It deletes them at once.
func isProbe(name string) bool { return len(name) == len("tXXXXXX") && name[0] == 't' }

// remove decides on deleting a file or an empty directory.
func (c *ChangeMonitor) remove(path string) error {
	mode, exists := typeOf(path)
	if !exists {
		return nil
	}
	hit, ok := c.files.inside.MatchType(path, mode)
	switch {
	case !ok, hit.Inert(path, mode), c.permits(hit, path), c.files.madeBefore(hit), slices.Contains(c.probes, path):
	case hit.Judge == "" || !mode.IsRegular():
		return byEntry(hit)
	default:
		before, err := c.remember(hit, path, false)
		if err != nil || !c.keeps(before, path, nil) {
			return byEntry(hit)
		}
	}
	if mode.IsDir() {
		c.leave(path)
	}
	return c.keepTop(path)
}

// keepTop refuses to take a repository's .git away while the repository has other entry points.
func (c *ChangeMonitor) keepTop(path string) error {
	top := filepath.Dir(path)
	if filepath.Base(path) != protect.GitDir || top == c.files.policy.Workspace || c.isFresh(top) {
		return nil
	}
	hits, err := c.files.inside.Within(top, top)
	if err != nil {
		return refuse(path, "%v", err)
	}
	for _, hit := range hits {
		if !hit.Git() && hit.Top == top && !c.permits(hit, hit.Path) && !c.files.madeBefore(hit) {
			return byEntry(hit)
		}
	}
	return nil
}

// rename decides on giving the file at a path another one.
func (c *ChangeMonitor) rename(from, to string) error {
	mode, exists := typeOf(from)
	if !exists || from == to {
		return nil
	}
	if !mode.IsDir() {
		if err := c.remove(from); err != nil {
			return err
		}
		return c.place(from, to, mode)
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return nil // it fails
	}
	if err := c.moveTree(from, to); err != nil {
		return err
	}
	if err := c.keepTop(from); err != nil {
		return err
	}
	if err := c.add(to, false); err != nil {
		return err
	}
	c.moved = append(c.moved, to)
	fresh := c.isFresh(from) && !c.wasGone(to)
	c.leave(from)
	c.leave(to)
	if fresh {
		c.fresh[to] = true
	}
	return nil
}

// Place refuses what would change an entry point at a path: the file or directory at another path, if it were there.
// Where it comes from does not matter.
func (c *ChangeMonitor) Place(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mode, exists := typeOf(from)
	if !exists || !c.files.Protects() {
		return nil
	}
	if !mode.IsDir() {
		return c.place(from, to, mode)
	}
	hits, err := c.files.inside.Within(from, to)
	if err != nil {
		return refuse(to, "%v", err)
	}
	for _, hit := range hits {
		if !c.permits(hit, hit.Path) {
			return byEntry(hit)
		}
	}
	return c.add(to, false)
}

// moveTree decides on the entry points in a directory that gets another path.
func (c *ChangeMonitor) moveTree(from, to string) error {
	for _, as := range []string{from, to} {
		hits, err := c.files.inside.Within(from, as)
		if err != nil {
			return refuse(as, "%v", err)
		}
		for _, hit := range hits {
			before := hit // where its repository is now
			if below, ok := paths.Below(as, hit.Top); ok {
				before.Top = filepath.Join(from, below)
			}
			if !c.permits(hit, hit.Path) && (c.wasGone(to) || !c.permits(before, hit.Path)) {
				return byEntry(hit)
			}
		}
	}
	return nil
}

// place decides on putting a file at a path.
func (c *ChangeMonitor) place(from, to string, mode fs.FileMode) error {
	rules := c.files.inside
	hit, ok := rules.MatchType(to, mode)
	switch {
	case !ok, c.permits(hit, to):
	case hit.Judge == "":
		return byEntry(hit)
	default:
		before, err := c.remember(hit, to, false)
		if err != nil {
			return err
		}
		after, err := content(from, true)
		if err != nil {
			return refuse(to, "%v", err)
		}
		if !c.keeps(before, to, after) {
			return refuse(to, "it would have settings by which git runs programs or reads others; "+
				"name it in protected_paths to ask a person")
		}
	}
	return c.add(to, false)
}

// exchange decides on having two paths change places.
func (c *ChangeMonitor) exchange(a, b string) error {
	var trees []string
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		mode, exists := typeOf(pair[0])
		if !exists {
			return nil // it fails
		}
		check := c.moveTree
		if mode.IsDir() {
			trees = append(trees, pair[1])
		} else {
			check = func(from, to string) error { return c.place(from, to, mode) }
		}
		if err := check(pair[0], pair[1]); err != nil {
			return err
		}
		if err := c.keepTop(pair[0]); err != nil {
			return err
		}
	}
	c.leave(a)
	c.leave(b)
	c.gone[a], c.gone[b] = true, true
	c.moved = append(c.moved, trees...)
	return nil
}

// link decides on giving a file a second name, by which it could be changed. From is empty for a file without a name.
func (c *ChangeMonitor) link(from, to string) error {
	for _, path := range []string{from, to} {
		if path == "" {
			continue
		}
		if hit, ok := c.files.inside.Match(path); ok && !c.permits(hit, path) {
			return byEntry(hit)
		}
	}
	return c.add(to, false)
}

// attribute decides on setting mode, owner, times or extended attributes.
func (c *ChangeMonitor) attribute(path string) error {
	mode, _ := typeOf(path)
	hit, ok := c.files.inside.MatchType(path, mode)
	if !ok || hit.Judge == "gitlink" && mode.IsDir() || hit.Loose() || c.permits(hit, path) || c.isFresh(path) {
		return nil
	}
	if known := c.judged[path]; known != nil && known.own {
		return nil
	}
	return byEntry(hit)
}
