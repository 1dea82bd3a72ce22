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
		return u.blockLinks(s.Before, u.restoreMeta(s, o))
	})
}

func (u *undoRun) restoreMeta(s *undoStep, o *fileObject) error {
	d, err := u.openCurrentDir(s.Dir)
	if err != nil {
		return err
	}
	name, path := string(s.Name), filepath.Join(d.path, string(s.Name))
	now, err := d.statName(name)
	if err != nil {
		return err
	}
	if now == nil || now.Mode.Type() != o.Mode.Type() {
		return &PathConflict{path, changedSince}
	}
	if err := u.checkPermitted(mutation.Attribute, path, "", false); err != nil && o.Attributed {
		return err
	}
	u.recordChange(mutation.Attribute, path, "")
	return u.applyMeta(d, name, s.path, o)
}

// applyMeta restores the metadata of a file or directory, and notes what could not be restored.
func (u *undoRun) applyMeta(d *cachedDir, name, path string, o *fileObject) error {
	meta := o.toFileMeta()
	if o.isUnrestorable() {
		meta.Attributes = nil // a device or socket is not opened
	}
	err := meta.ApplyTo(d.root, name)
	if err != nil && !endsUndo(err) && meta.Attributes != nil {
		if _, hasList := meta.Attributes[workspace.AccessList]; hasList {
			meta.Mode &^= 0o077 // the mode alone may permit more
		}
		meta.Attributes = nil
		err = meta.ApplyTo(d.root, name)
	}
	n, statErr := d.statName(name)
	if endsUndo(err) || statErr != nil || n == nil {
		return cmp.Or(err, statErr)
	}
	note := func(is bool, what string) {
		if is && !slices.Contains(u.lostMetadata[path], what) {
			u.lostMetadata[path] = append(u.lostMetadata[path], what)
		}
	}
	note(n.UID != o.UID || n.GID != o.GID, "owner")
	for bit, what := range map[fs.FileMode]string{fs.ModeSetuid: "setuid bit", fs.ModeSetgid: "setgid bit", fs.ModeSticky: "sticky bit"} {
		note((o.Mode^n.Mode)&bit != 0, what)
	}
	if len(o.Attributes) > 0 {
		now, readErr := d.readXattrs(name)
		for key, value := range o.Attributes {
			note(readErr != nil || !bytes.Equal(now[key], value), strings.Replace(key, "system.posix_acl_", "access control list: ", 1))
		}
	}
	note(n.Mode.Perm() != o.Mode.Perm(), "mode")
	note(n.Modified != o.Modified, "time")
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
			wanted[index] = false // its mode and time stay
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
	if o.Now != "" && o.After != nil {
		mode, opened := u.modes[o.index]
		if !opened {
			mode = now.Mode
		}
		merged, _ := u.mergeDirMeta(o, mode, u.dirs.openDir(path))
		o = &merged
	}
	d, name := u.dirs.openDir(filepath.Dir(path)), filepath.Base(path)
	if d == nil || path == u.files.Dir() { // the policy allows it without its parent
		d, name = u.dirs.openDir(path), "."
	}
	if d == nil {
		return nil
	}
	is, err := d.statName(name)
	if _, moved := u.paths[o.index]; err != nil || is == nil || !is.Mode.IsDir() || !moved && !u.isSameObject(is.ID, o.ID) {
		return nil //nolint:nilerr // somebody else moved or deleted it
	}
	u.recordChange(mutation.Attribute, path, "")
	err = u.applyMeta(d, name, path, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mergeDirMeta returns a directory with the former metadata where the current one, with a given mode, is as the
// operation left it, and with the current metadata elsewhere. If somebody else changed metadata that the operation
// changed, it is a conflict, and only the time can be the former one.
func (p *undoPlan) mergeDirMeta(o *fileObject, mode fs.FileMode, d *cachedDir) (merged fileObject, isConflict bool) {
	now, was := p.nodes[o.index], o.After
	merged = *o
	merged.Attributes = nil // the current ones
	others := was.Mode != uint32(o.Mode) || was.UID != o.UID || was.GID != o.GID || was.Attributes != nil
	if now.Modified != was.Modified && !p.force {
		merged.Modified = now.Modified
		isConflict = !others && !o.Touched && now.Modified != o.Modified
	}
	if uint32(mode) != was.Mode && !p.force {
		merged.Mode = mode
		isConflict = isConflict || was.Mode != uint32(o.Mode) && mode != o.Mode
	}
	if (now.UID != was.UID || now.GID != was.GID) && !p.force {
		merged.UID, merged.GID = now.UID, now.GID
		isConflict = isConflict || (was.UID != o.UID || was.GID != o.GID) && (now.UID != o.UID || now.GID != o.GID)
	}
	if was.Attributes != nil && d != nil {
		has, err := d.readXattrs(".")
		if merged.Attributes = has; err != nil {
			return merged, true
		}
		all := maps.Clone(was.Attributes)
		maps.Copy(all, o.Attributes)
		for key := range all {
			former, had := o.Attributes[key]
			switch left, isLeft := was.Attributes[key]; {
			case had == isLeft && bytes.Equal(former, left):
			case !p.force && !bytes.Equal(has[key], left):
				isConflict = isConflict || !bytes.Equal(has[key], former)
			case had:
				has[key] = former
			default:
				delete(has, key)
			}
		}
	}
	if isConflict {
		merged.Mode, merged.UID, merged.GID, merged.Attributes = mode, now.UID, now.GID, nil
	}
	return merged, isConflict
}
