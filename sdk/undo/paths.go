package undo

import (
	"path/filepath"
	"slices"
)

// maxDepth is the maximum number of parents that a path has. It stops loops in damaged records.
const maxDepth = 4096

// entryPath returns the path of an entry, below the directory path that the function of returns.
func (r *operationRecord) entryPath(e *entryChange, of func(*operationRecord, *fileObject) string) string {
	if e.Dir == none {
		return string(e.Name)
	}
	return filepath.Join(of(r, r.Objects[e.Dir]), string(e.Name))
}

// keyForEntry returns the directory and name of an entry as a map key.
func (r *operationRecord) keyForEntry(e *entryChange) dirEntryKey {
	if e.Dir == none {
		return dirEntryKey{nil, string(e.Name)}
	}
	return dirEntryKey{r.Objects[e.Dir], string(e.Name)}
}

// firstTouchedDirPath returns the path of a directory when the operation first touched it.
func (r *operationRecord) firstTouchedDirPath(o *fileObject) string {
	names := []string{string(o.Name)}
	for len(names) < maxDepth && o.Parent != none {
		o = r.Objects[o.Parent]
		names = append(names, string(o.Name))
	}
	slices.Reverse(names)
	return filepath.Join(names...)
}

// setBeforePaths sets the path that each directory had before the operation. It is empty for created directories.
func (r *operationRecord) setBeforePaths() {
	homes := map[int]*entryChange{} // where objects were
	for _, e := range r.Entries {
		if e.Before != none && e.Dir != none && !e.Foreign {
			homes[e.Before] = e
		}
	}
	known := map[*fileObject]string{}
	var before func(o *fileObject, depth int) string
	before = func(o *fileObject, depth int) (path string) {
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
			o.Before = rawName(before(o, 0))
		}
	}
}

// beforeDirPath returns the path of a directory before the operation. For a created directory it returns the path
// after.
func (r *operationRecord) beforeDirPath(o *fileObject) string {
	if o.Before == "" {
		return string(o.Now)
	}
	return string(o.Before)
}

// afterDirPath returns the path of a directory after the operation. For a deleted directory it returns the path before.
func (r *operationRecord) afterDirPath(o *fileObject) string {
	if o.Now == "" {
		return string(o.Before)
	}
	return string(o.Now)
}
