package undo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// cachedDir is an open directory together with its object in the record.
type cachedDir struct {
	*dirHandle

	object *fileObject // nil until the recorder or the plan identifies the directory
}

// dirCache keeps recently used directories open, because consecutive changes often share a directory.
type dirCache struct {
	files  *workspace.Workspace
	all    map[string]*cachedDir // by path
	order  []string
	denied bool // openDir failed last for lack of permission
}

// maxOpenDirs is the maximum number of directories that a dirCache keeps open.
const maxOpenDirs = 32

func newDirCache(files *workspace.Workspace) dirCache {
	return dirCache{files: files, all: map[string]*cachedDir{}}
}

// openDir returns an open directory from the cache or opens it. It returns nil if the directory does not exist or the
// policy does not open it. In the workspace it opens each directory through its cached parent, so the time does not
// grow with depth.
func (c *dirCache) openDir(path string) *cachedDir {
	if d := c.all[path]; d != nil { // the ones used last stay open
		at := slices.Index(c.order, path)
		c.order = append(slices.Delete(c.order, at, at+1), path)
		return d
	}
	dir := c.openUncached(path)
	if dir == nil {
		return nil
	}
	if len(c.order) >= maxOpenDirs {
		c.closeDir(c.order[0])
	}
	d := &cachedDir{dirHandle: dir}
	c.all[path] = d
	c.order = append(c.order, path)
	return d
}

func (c *dirCache) openUncached(path string) *dirHandle {
	open := func() (*dirHandle, error) { return openDirHandle(c.files, path) }
	if top := c.files.Dir(); path != top && paths.Within(top, path) {
		parent := c.openDir(filepath.Dir(path))
		if parent == nil {
			return nil
		}
		open = func() (*dirHandle, error) { return parent.openSubdir(filepath.Base(path)) }
	}
	dir, err := open()
	if err != nil {
		c.denied = errors.Is(err, fs.ErrPermission)
		return nil
	}
	return dir
}

func (c *dirCache) closeDir(path string) {
	d := c.all[path]
	if d == nil {
		return
	}
	d.closeHandles()
	delete(c.all, path)
	c.order = slices.DeleteFunc(c.order, func(open string) bool { return open == path })
}

// closeTree closes a directory and all below it, because their paths are about to change.
func (c *dirCache) closeTree(path string) {
	for _, open := range slices.Clone(c.order) {
		if paths.Within(path, open) {
			c.closeDir(open)
		}
	}
}

// closeAll closes all cached directories, because their paths may change.
func (c *dirCache) closeAll() {
	for path := range c.all {
		c.all[path].closeHandles()
	}
	clear(c.all)
	c.order = c.order[:0]
}

// openInaccessible opens a directory and adds owner permissions where the directory or a parent lacks them. It returns
// the directory's former state, and a function that restores the former modes.
func (c *dirCache) openInaccessible(path string) (d *cachedDir, was *fileStat, restore func()) {
	restore = func() {}
	if opened := c.openDir(path); opened != nil && !opened.isInaccessible() {
		if n, err := statOpenFile(opened.file); err == nil {
			return opened, n, restore
		}
	}
	if !paths.Within(c.files.Dir(), path) || path == c.files.Dir() {
		return nil, nil, nil
	}
	parent, _, restore := c.openInaccessible(filepath.Dir(path))
	if parent == nil {
		return nil, nil, nil
	}
	name := filepath.Base(path)
	n, err := parent.statName(name)
	if err == nil && n != nil && n.Mode.IsDir() {
		if opened := c.openDir(path); opened != nil && !opened.isInaccessible() {
			return opened, n, restore
		}
		if parent.root.Chmod(name, settableDirMode(n.Mode)|0o700) == nil {
			c.closeDir(path)
			d = c.openDir(path)
			above := restore
			restore = func() {
				if parent := c.openDir(filepath.Dir(path)); parent != nil {
					_ = parent.root.Chmod(name, settableDirMode(n.Mode))
				}
				above()
			}
		}
	}
	if d == nil {
		restore()
		return nil, nil, nil
	}
	return d, n, restore
}

// walkTree calls fn for each name below a directory until fn returns false. It opens inaccessible directories meanwhile
// and restores their modes.
func (c *dirCache) walkTree(path string, fn func(d *cachedDir, name string, n *fileStat) bool) {
	queue := []string{path}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		d, _, restore := c.openInaccessible(path)
		if d == nil {
			continue
		}
		names, _ := d.listNames()
		for _, name := range names {
			n, err := d.statName(name)
			if err != nil || n == nil {
				continue
			}
			if !fn(d, name, n) {
				restore()
				return
			}
			if n.Mode.IsDir() {
				queue = append(queue, filepath.Join(path, name))
			}
		}
		restore()
	}
}
