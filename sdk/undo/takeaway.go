package undo

import (
	"io/fs"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// takeAway takes what the operation put under a name away from it: what it created is deleted, what it moved waits.
func (u *undoing) takeAway() error {
	return u.eachStep(compareInnermost, func(s *step) error {
		if s.now == nil || s.Before == s.After || s.Dir == none {
			return nil
		}
		d, err := u.openCurrent(s.Dir)
		if err != nil {
			return err
		}
		name := string(s.Name)
		now, err := u.checkAgain(d, s)
		if err != nil {
			return err
		}
		after := u.afterObject(s)
		path := filepath.Join(d.path, name)
		switch {
		case after == nil: // somebody else's, by force
			return u.removeAll(d, name, path)
		case after.isDir() && after.Created:
			if s.Before == none {
				return nil // deleted when it is empty
			}
			return u.stageObject(d, s, path)
		case after.isDir(), !after.Created && len(u.homes[s.After]) > 0 && u.staged[s.After].name == "" && u.needsHome(s.After):
			return u.stageObject(d, s, path)
		case u.replacesFile(s):
			return nil // the former file takes its place at once
		default:
			return u.removeFile(d, name, path, now)
		}
	})
}

// afterObject returns the object that the operation put under a name, if it is still what has it.
func (u *undoing) afterObject(s *step) *object {
	if s.After == none {
		return nil
	}
	if o := u.Objects[s.After]; o.isDir() == s.now.Mode.IsDir() {
		return o
	}
	return nil
}

// needsHome reports whether an object has to be moved to a name that it had before.
func (u *undoing) needsHome(index int) bool {
	for _, home := range u.homes[index] {
		if home.After == index || home.done {
			return false
		}
	}
	return true
}

// replacesFile reports whether a regular file is put into the place of another at once.
func (u *undoing) replacesFile(s *step) bool {
	if s.Before == none || s.After == none || len(u.places[s.Before]) > 0 {
		return false
	}
	before, after := u.Objects[s.Before], u.Objects[s.After]
	return before.isRegular() && after.isRegular() && after.Created && s.now.Mode.IsRegular()
}

// checkAgain looks at a name again right before it is changed.
func (u *undoing) checkAgain(d *openDir, s *step) (*node, error) {
	now, err := d.statName(string(s.Name))
	if err != nil {
		return nil, err
	}
	if now == nil || now.ID != s.now.ID || !now.Mode.IsDir() && now.Changed != s.now.Changed && !u.touched[now.ID] {
		return nil, &Conflict{s.at, changedSince}
	}
	return now, nil
}

// stageObject renames an object to a temporary name in its directory, where it waits.
func (u *undoing) stageObject(d *openDir, s *step, path string) error {
	temp := newTempName()
	u.touched[s.now.ID] = true
	u.noticeChange(mutation.Rename, path, filepath.Join(d.path, temp))
	if err := d.renameToFree(string(s.Name), d.directory, temp); err != nil {
		return err
	}
	moved, err := d.statName(temp)
	if err != nil || moved == nil || moved.ID != s.now.ID || moved.Size != s.now.Size && !moved.Mode.IsDir() || moved.Modified != s.now.Modified && !moved.Mode.IsDir() {
		_ = d.renameToFree(temp, d.directory, string(s.Name))
		return &Conflict{s.at, changedSince}
	}
	u.staged[s.After] = spot{s.Dir, temp}
	if u.Objects[s.After].isDir() {
		u.movedTo(path, filepath.Join(d.path, temp))
	}
	return nil
}

// removeFile deletes a file or link, if it is what was looked at.
func (u *undoing) removeFile(d *openDir, name, path string, now *node) error {
	if now.Mode.IsRegular() {
		if err := u.makeReadable(d, name, path, now); err != nil {
			return err
		}
	}
	u.noticeChange(mutation.Remove, path, "")
	u.touched[now.ID] = true
	temp := newTempName()
	if err := d.renameToFree(name, d.directory, temp); err != nil {
		return err
	}
	if err := checkMoved(d, temp, now); err != nil {
		_ = d.renameToFree(temp, d.directory, name)
		return err
	}
	return u.removeAside(d, temp, now)
}

// removeAside deletes a file that was renamed. Other names of it get the mode back that it had.
func (u *undoing) removeAside(d *openDir, name string, n *node) error {
	if mode, ok := u.closedFiles[n.ID]; ok {
		_ = d.root.Chmod(name, mode)
	}
	return d.root.Remove(name)
}

// makeReadable lets the owner of a file read it, so that it can be kept.
func (u *undoing) makeReadable(d *openDir, name, path string, now *node) error {
	if now.Mode&0o600 == 0o600 {
		return nil
	}
	u.noticeChange(mutation.Attribute, path, "")
	u.closedFiles[now.ID] = now.Mode &^ fs.ModeType
	return d.root.Chmod(name, now.Mode.Perm()|0o600)
}

// checkMoved fails if what was moved is not what was looked at, or if somebody still writes to it.
func checkMoved(d *openDir, name string, meant *node) error {
	moved, err := d.statName(name)
	if err != nil || moved == nil || moved.ID != meant.ID || moved.Size != meant.Size || moved.Modified != meant.Modified {
		return &Conflict{name, changedSince}
	}
	if !moved.Mode.IsRegular() {
		return nil
	}
	f, err := d.openName(name)
	if err != nil {
		return nil //nolint:nilerr // closed to its owner, so nobody has opened it since
	}
	defer func() { _ = f.Close() }()
	if err := checkUnused(f); err != nil {
		return &Conflict{name, "is in use: " + err.Error()}
	}
	return nil
}

// removeAll deletes what is at a name, with all that is in it: by force, something that is not the operation's.
func (u *undoing) removeAll(d *openDir, name, path string) error {
	n, err := d.statName(name)
	if err != nil || n == nil {
		return err
	}
	if !n.Mode.IsDir() {
		u.noticeChange(mutation.Remove, path, "")
		return d.root.Remove(name)
	}
	in, err := d.openBelow(name)
	if err != nil {
		return err
	}
	names, err := in.listNames()
	for _, below := range names {
		if err == nil {
			err = u.removeAll(&openDir{directory: in}, below, filepath.Join(path, below))
		}
	}
	in.closeHandles()
	if err != nil {
		return err
	}
	u.noticeChange(mutation.Remove, path, "")
	u.dirs.dropTree(path)
	return d.root.Remove(name)
}

// removeDirs deletes the directories that the operation created, and puts back what waits in vain.
func (u *undoing) removeDirs() error {
	u.unstageObjects(func(o *object) bool { return !o.Created })
	err := u.eachStep(compareInnermost, func(s *step) error {
		if s.After == none || s.Before == s.After || !u.Objects[s.After].isDir() || !u.Objects[s.After].Created || s.now == nil {
			return nil
		}
		at := spot{s.Dir, string(s.Name)}
		if from, ok := u.staged[s.After]; ok {
			at = from
		}
		d, err := u.openCurrent(at.dir)
		if err != nil {
			return err
		}
		path := filepath.Join(d.path, at.name)
		u.noticeChange(mutation.Remove, path, "")
		if d, err = u.openCurrent(at.dir); err != nil {
			return err
		}
		if err = d.root.Remove(at.name); err != nil && u.force && at.name != string(s.Name) { // its name is not free any more
			err = u.removeAll(d, at.name, path)
		}
		if err == nil {
			u.dirs.dropTree(path)
			delete(u.staged, s.After)
			return nil
		}
		return &Conflict{s.at, "has something in it that the operation did not put there"}
	})
	u.unstageObjects(func(*object) bool { return true })
	return err
}

// unstageObjects gives waiting objects their names back.
func (u *undoing) unstageObjects(which func(*object) bool) {
	for index, from := range u.staged {
		if which(u.Objects[index]) {
			u.unstageOne(index, from)
		}
	}
}

func (u *undoing) unstageOne(index int, from spot) {
	for _, s := range u.places[index] {
		d, err := u.openCurrent(from.dir)
		if err != nil {
			return
		}
		old, path := filepath.Join(d.path, from.name), filepath.Join(d.path, string(s.Name))
		u.noticeChange(mutation.Rename, old, path)
		if d, err = u.openCurrent(from.dir); err != nil {
			return
		}
		if d.renameToFree(from.name, d.directory, string(s.Name)) == nil {
			if u.Objects[index].isDir() {
				u.movedTo(old, path)
			}
			delete(u.staged, index)
			s.blockStep(appearedThen)
			return
		}
	}
}
