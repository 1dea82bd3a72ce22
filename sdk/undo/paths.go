package undo

import (
	"path/filepath"
	"slices"
)

// maxDepth is how many directories a path of a record goes through at most: a damaged one may go in circles.
const maxDepth = 4096

// entryPath returns the path of an entry, by the paths of its directory at some time.
func (r *record) entryPath(e *entry, of func(*record, *object) string) string {
	if e.Dir == none {
		return string(e.Name)
	}
	return filepath.Join(of(r, r.Objects[e.Dir]), string(e.Name))
}

// keyOf returns the name that an entry is about.
func (r *record) keyOf(e *entry) entryKey {
	if e.Dir == none {
		return entryKey{nil, string(e.Name)}
	}
	return entryKey{r.Objects[e.Dir], string(e.Name)}
}

// metPath returns the path that a directory had when the operation met it first.
func (r *record) metPath(o *object) string {
	names := []string{string(o.Name)}
	for len(names) < maxDepth && o.Parent != none {
		o = r.Objects[o.Parent]
		names = append(names, string(o.Name))
	}
	slices.Reverse(names)
	return filepath.Join(names...)
}

// setBefore finds the path that each directory had before the operation; empty for those that it created.
func (r *record) setBefore() {
	homes := map[int]*entry{} // where objects were
	for _, e := range r.Entries {
		if e.Before != none && e.Dir != none && !e.Foreign {
			homes[e.Before] = e
		}
	}
	known := map[*object]string{}
	var before func(o *object, depth int) string
	before = func(o *object, depth int) (path string) {
		if o.Created || depth > maxDepth {
			return ""
		}
		if earlier, ok := known[o]; ok {
			return earlier
		}
		defer func() { known[o] = path }()
		parent, name := o.Parent, string(o.Name)
		if home := homes[o.index]; home != nil {
			parent, name = home.Dir, string(home.Name)
		}
		if parent == none {
			return name
		}
		above := before(r.Objects[parent], depth+1)
		if above == "" {
			return ""
		}
		return filepath.Join(above, name)
	}
	for _, o := range r.Objects {
		if o.isDir() {
			o.Before = rawText(before(o, 0))
		}
	}
}

// beforePath returns the path of a directory before the operation, or of one that it created, after.
func (r *record) beforePath(o *object) string {
	if o.Before == "" {
		return string(o.Now)
	}
	return string(o.Before)
}

// nowPath returns the path of a directory after the operation, or of one that it deleted, before.
func (r *record) nowPath(o *object) string {
	if o.Now == "" {
		return string(o.Before)
	}
	return string(o.Now)
}
