package undo

import (
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// openDir is a directory that is held open.
type openDir struct {
	*directory

	object *object // in a record; nil before somebody has looked
}

// dirCache holds directories open: changes come in clusters.
type dirCache struct {
	files *workspace.Workspace
	all   map[string]*openDir // by path
	order []string
}

// maxOpenDirs is how many directories are held open.
const maxOpenDirs = 32

func newDirCache(files *workspace.Workspace) dirCache {
	return dirCache{files: files, all: map[string]*openDir{}}
}

// openDir opens a directory; nil where the policy does not open it, or there is none. Inside the workspace each is opened
// through the one before, so the time does not grow with the depth.
func (c *dirCache) openDir(path string) *openDir {
	if d := c.all[path]; d != nil {
		return d
	}
	dir := c.openNew(path)
	if dir == nil {
		return nil
	}
	if len(c.order) >= maxOpenDirs {
		c.closeDir(c.order[0])
	}
	d := &openDir{directory: dir}
	c.all[path] = d
	c.order = append(c.order, path)
	return d
}

func (c *dirCache) openNew(path string) *directory {
	if top := c.files.Dir(); path == top || !paths.Within(top, path) {
		dir, err := openDirectory(c.files, path)
		if err != nil {
			return nil
		}
		return dir
	}
	parent := c.openDir(filepath.Dir(path))
	if parent == nil {
		return nil
	}
	dir, err := parent.openBelow(filepath.Base(path))
	if err != nil {
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
	for i, p := range c.order {
		if p == path {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}

// dropTree closes a directory and all that is below it: their paths come to mean others.
func (c *dirCache) dropTree(path string) {
	for _, open := range slices.Clone(c.order) {
		if paths.Within(path, open) {
			c.closeDir(open)
		}
	}
}

// closeAll closes all: their paths may come to mean other directories.
func (c *dirCache) closeAll() {
	for path := range c.all {
		c.all[path].closeHandles()
	}
	clear(c.all)
	c.order = c.order[:0]
}

// openAnyway opens a directory also where its owner may not look into it, or into one above it: the operation may have
// closed them. It returns what the directory was before; restore sets the modes again.
func (c *dirCache) openAnyway(path string) (d *openDir, was *node, restore func()) {
	restore = func() {}
	if opened := c.openDir(path); opened != nil && !opened.isClosed() {
		if n, err := statFile(opened.file); err == nil {
			return opened, n, restore
		}
	}
	if !paths.Within(c.files.Dir(), path) || path == c.files.Dir() {
		return nil, nil, nil
	}
	parent, _, restore := c.openAnyway(filepath.Dir(path))
	if parent == nil {
		return nil, nil, nil
	}
	name := filepath.Base(path)
	n, err := parent.statName(name)
	if err == nil && n != nil && n.Mode.IsDir() {
		if opened := c.openDir(path); opened != nil && !opened.isClosed() {
			return opened, n, restore
		}
		if parent.root.Chmod(name, modeBits(n.Mode)|0o700) == nil {
			c.closeDir(path)
			d = c.openDir(path)
			above := restore
			restore = func() {
				if parent := c.openDir(filepath.Dir(path)); parent != nil {
					_ = parent.root.Chmod(name, modeBits(n.Mode))
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

// walkTree calls fn for what is in a directory, at all depths, until it returns false. Directories that the operation closed
// are opened meanwhile.
func (c *dirCache) walkTree(path string, fn func(d *openDir, name string, n *node) bool) {
	queue := []string{path}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		d, _, restore := c.openAnyway(path)
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
