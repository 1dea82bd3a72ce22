package undo

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
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
		return u.applyMeta(d, string(s.Name), s.path, o)
	})
}

// applyMeta restores the metadata of a file or directory, and notes what could not be restored.
func (u *undoRun) applyMeta(d *cachedDir, name, path string, o *fileObject) error {
	err := o.toFileMeta().ApplyTo(d.root, name)
	n, statErr := d.statName(name)
	if err != nil && !errors.Is(err, fs.ErrPermission) || statErr != nil || n == nil {
		return cmp.Or(err, statErr)
	}
	lost := u.reduced[path]
	note := func(is bool, what string) {
		if is && !slices.Contains(lost, what) {
			lost = append(lost, what)
		}
	}
	note(n.UID != o.UID || n.GID != o.GID, "owner")
	for bit, what := range map[fs.FileMode]string{fs.ModeSetuid: "setuid bit", fs.ModeSetgid: "setgid bit", fs.ModeSticky: "sticky bit"} {
		note(o.Mode&bit != 0 && n.Mode&bit == 0, what)
	}
	if len(o.Attributes) > 0 {
		now, readErr := d.readXattrs(name)
		for key, value := range o.Attributes {
			note(readErr != nil || !bytes.Equal(now[key], value), strings.Replace(key, "system.posix_acl_", "access control list: ", 1))
		}
	}
	note(err != nil, "metadata")
	if len(lost) > 0 {
		slices.Sort(lost)
		u.reduced[path] = lost
	}
	return nil
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
	now := u.nodes[o.index]
	if o.Now != "" && now == nil {
		return nil // not what the operation left
	}
	if o.Now != "" && o.After != nil { // metadata that somebody else changed since stays
		was := *o
		o = &was
		isConflict := slices.ContainsFunc(u.homes[o.index], func(s *undoStep) bool { return s.blocked != "" && s.Before == s.After })
		if o.Attributes = u.mergeAttributes(o); isConflict {
			o.Attributes = nil
		}
		if now.Modified != o.After.Modified && !u.force {
			o.Modified = now.Modified
		}
		mode, opened := u.modes[o.index]
		if !opened {
			mode = now.Mode
		}
		if uint32(mode) != o.After.Mode && !u.force || isConflict {
			o.Mode = mode
		}
		if (now.UID != o.After.UID || now.GID != o.After.GID) && !u.force || isConflict {
			o.UID, o.GID = now.UID, now.GID
		}
	}
	parent := u.dirs.openDir(filepath.Dir(path))
	if parent == nil || path == u.files.Dir() {
		return u.applyTopDirMeta(path, o)
	}
	name := filepath.Base(path)
	is, err := parent.statName(name)
	if _, moved := u.paths[o.index]; err != nil || is == nil || !is.Mode.IsDir() || !moved && !u.isSameObject(is.ID, o.ID) {
		return nil //nolint:nilerr // somebody else moved or deleted it
	}
	u.recordChange(mutation.Attribute, path, "")
	err = u.applyMeta(parent, name, path, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// applyTopDirMeta restores the metadata of a directory that the policy allows without its parent.
func (u *undoRun) applyTopDirMeta(path string, o *fileObject) error {
	d, err := openDirHandle(u.files, path)
	if err != nil {
		return nil //nolint:nilerr // it was deleted
	}
	defer d.closeHandles()
	u.recordChange(mutation.Attribute, path, "")
	return u.applyMeta(&cachedDir{dirHandle: d}, ".", path, o)
}

// mergeAttributes returns the current extended attributes of a directory with the former values of those that the
// operation changed. It returns nil if the operation changed none.
func (u *undoRun) mergeAttributes(o *fileObject) map[string][]byte {
	d := u.dirs.openDir(u.currentDirPath(o.index))
	if o.After.Attributes == nil || d == nil {
		return nil
	}
	now, err := d.readXattrs(".")
	if err != nil {
		return nil
	}
	for _, key := range o.listChangedAttributes() {
		if value, had := o.Attributes[key]; !u.force && !bytes.Equal(now[key], o.After.Attributes[key]) {
			continue
		} else if had {
			now[key] = value
		} else {
			delete(now, key)
		}
	}
	return now
}

// listChangedAttributes returns the names of extended attributes of a directory that the operation changed.
func (o *fileObject) listChangedAttributes() (names []string) {
	all := maps.Clone(o.Attributes)
	maps.Copy(all, o.After.Attributes)
	for key := range all {
		was, had := o.Attributes[key]
		if is, has := o.After.Attributes[key]; had != has || !bytes.Equal(was, is) {
			names = append(names, key)
		}
	}
	return names
}
