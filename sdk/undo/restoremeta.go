package undo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

func (u *undoRun) restoreFileMeta() error {
	done := map[int]bool{}
	return u.eachStep(compareOutermost, func(s *undoStep) error {
		if s.Before == none || s.Dir == none || done[s.Before] || u.Objects[s.Before].isDir() {
			return nil
		}
		o := u.Objects[s.Before]
		done[s.Before] = true
		if o.After == nil || !o.Written && !o.Attributed || o.After.Changed == o.Changed && len(u.places[s.Before]) > 0 && s.Before == s.After {
			return nil // made again with it, or never changed
		}
		d, err := u.openCurrentDir(s.Dir)
		if err != nil {
			return err
		}
		if now, err := d.statName(string(s.Name)); err != nil || now == nil || now.Mode.Type() != o.Mode.Type() {
			return err
		}
		path := filepath.Join(d.path, string(s.Name))
		if err := u.checkPermitted(mutation.Attribute, path, "", false); err != nil && o.Attributed {
			return err
		}
		u.recordChange(mutation.Attribute, path, "")
		return o.toFileMeta().ApplyTo(d.root, string(s.Name))
	})
}

// restoreDirMeta restores the metadata of directories. It is the last phase, because restoring files changes the times
// of directories.
func (u *undoRun) restoreDirMeta() error {
	type dirAt struct {
		o    *fileObject
		path string
	}
	var all []dirAt
	wanted := map[int]bool{}
	for _, s := range u.steps {
		if s.blocked == "" && s.Before != none && u.Objects[s.Before].isDir() {
			wanted[s.Before] = true
		}
		if s.Dir != none {
			wanted[s.Dir] = true
		}
	}
	for _, o := range u.Objects {
		wanted[o.index] = wanted[o.index] || o.isDir() && o.Touched // names came and went, so its time changed
	}
	for index, is := range wanted {
		if !is {
			continue
		}
		o := u.Objects[index]
		if path := u.currentDirPath(index); o.Now != "" && u.isInForeignDir(string(o.Now)) {
			continue // it stays
		} else if path != "" && !o.Created {
			all = append(all, dirAt{o, path})
		} else if n := u.nodes[index]; path != "" && n != nil { // what somebody else put in it stays
			u.times[index] = n.Modified
			wanted[index] = false
		}
	}
	slices.SortFunc(all, func(a, b dirAt) int { return comparePaths(b.path, a.path) })
	for index, modified := range u.times {
		if d, err := u.openCurrentDir(index); err == nil && !wanted[index] {
			_ = d.root.Chtimes(".", time.Time{}, time.Unix(0, modified))
		}
	}
	for _, at := range all {
		if err := u.applyDirMeta(at.o, at.path); err != nil {
			return err
		}
		delete(u.opened, at.path)
	}
	u.restoreOtherDirModes()
	return nil
}

func (u *undoRun) applyDirMeta(o *fileObject, path string) error {
	meta := o.toFileMeta()
	now := u.nodes[o.index]
	if o.Now != "" && now == nil {
		return nil // not what the operation left
	}
	if o.Now != "" && o.After != nil && !u.force { // attributes that somebody else changed since stay
		if now.Modified != o.After.Modified {
			meta.Modified = time.Unix(0, now.Modified)
		}
		mode, opened := u.modes[o.index]
		if !opened {
			mode = now.Mode
		}
		if uint32(mode) != o.After.Mode {
			meta.Mode = mode
		}
		if now.UID != o.After.UID || now.GID != o.After.GID {
			meta.Owner = nil
		}
	}
	if path == u.files.Dir() {
		return u.applyTopDirMeta(path, meta)
	}
	parent := u.dirs.openDir(filepath.Dir(path))
	if parent == nil {
		return u.applyTopDirMeta(path, meta)
	}
	name := filepath.Base(path)
	is, err := parent.statName(name)
	if _, moved := u.paths[o.index]; err != nil || is == nil || !is.Mode.IsDir() || !moved && !u.isSameObject(is.ID, o.ID) {
		return nil //nolint:nilerr // somebody else moved or deleted it
	}
	u.recordChange(mutation.Attribute, path, "")
	err = meta.ApplyTo(parent.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// applyTopDirMeta restores the metadata of a directory that the policy allows without its parent.
func (u *undoRun) applyTopDirMeta(path string, meta workspace.FileMeta) error {
	d, err := openDirHandle(u.files, path)
	if err != nil {
		return nil //nolint:nilerr // it was deleted
	}
	defer d.closeHandles()
	u.recordChange(mutation.Attribute, path, "")
	return meta.ApplyTo(d.root, ".")
}
