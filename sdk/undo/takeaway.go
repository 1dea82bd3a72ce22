package undo

import (
	"io/fs"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// vacateNewNames moves files to temporary names from names that have a former object. Files at other names stay until
// all former files are back.
func (u *undoRun) vacateNewNames() error {
	return u.eachStep(compareInnermost, func(s *undoStep) error {
		if s.now == nil || s.Before == s.After || s.Dir == none {
			return nil
		}
		d, err := u.openCurrentDir(s.Dir)
		if err != nil {
			return err
		}
		now, err := u.recheckStep(d, s)
		if err != nil {
			return err
		}
		after := u.objectPutByOperation(s)
		isOurs := after != nil && (!u.force || u.isUnchangedSince(now, after, nil))
		path := filepath.Join(d.path, string(s.Name))
		switch {
		case !isOurs && now.Mode.IsDir() && u.permit(mutation.FileMutation{Kind: mutation.Rename, Path: path, To: path + ".aside"}) != nil,
			!isOurs && !now.Mode.IsDir() && u.permit(mutation.FileMutation{Kind: mutation.Remove, Path: path}) != nil:
			return &PathConflict{path, protectedPath}
		case s.Before == none && (after == nil || after.Created):
			return nil
		case after != nil && (after.isDir() || !after.Created && len(u.homes[s.After]) > 0 && u.staged[s.After].name == "" && u.needsMoveBack(s.After)):
			at, moveErr := u.moveToTempName(d, s, path)
			if err = moveErr; err == nil {
				u.staged[s.After] = at
			}
		case after != nil && u.replacesInOneRename(s): // the former file takes its place at once
		default:
			if now.Mode.IsRegular() {
				if err = u.makeReadable(d, string(s.Name), path, now); err != nil {
					return err
				}
			}
			at, moveErr := u.moveToTempName(d, s, path)
			if err = moveErr; err == nil {
				u.aside[s] = at
				if inUse := checkUnused(d, at.name); inUse != nil {
					s.blockStep(inUse.Reason)
				}
			}
		}
		return err
	})
}

// removeReplacedFiles deletes created files and, by force, other files at their names.
func (u *undoRun) removeReplacedFiles() error {
	u.settleAsideFiles(false)
	return u.eachStep(compareInnermost, func(s *undoStep) error {
		after := (*fileObject)(nil)
		if s.now != nil {
			after = u.objectPutByOperation(s)
		}
		if s.now == nil || s.Before != none || s.Dir == none || after != nil && (after.isDir() || !after.Created) {
			return nil
		}
		d, err := u.openCurrentDir(s.Dir)
		if err != nil {
			return err
		}
		now, err := u.recheckStep(d, s)
		if err != nil {
			return err
		}
		path := filepath.Join(d.path, string(s.Name))
		if after == nil {
			return u.removeForeignTree(d, string(s.Name), path)
		}
		return u.removeFile(d, string(s.Name), path, now)
	})
}

// settleAsideFiles deletes replaced files at temporary names. It moves a file back if the former object of its name was
// not restored.
func (u *undoRun) settleAsideFiles(failed bool) {
	for s, at := range u.aside {
		d, err := u.openCurrentDir(at.dir)
		if err != nil {
			continue
		}
		temp, path := filepath.Join(d.path, at.name), filepath.Join(d.path, string(s.Name))
		if s.blocked != "" || failed {
			u.recordChange(mutation.Rename, temp, path)
			if d.renameNoReplace(at.name, d.dirHandle, string(s.Name)) == nil {
				u.noteDirMoved(temp, path)
				if mode, ok := u.closedFiles[s.now.ID]; ok {
					_ = d.root.Chmod(string(s.Name), mode)
				}
				continue
			}
		}
		if s.now.Mode.IsDir() {
			_ = u.removeForeignTree(d, at.name, temp)
			continue
		}
		u.recordChange(mutation.Remove, temp, "")
		_ = u.removeRenamedFile(d, at.name, s.now)
	}
	clear(u.aside)
}

// objectPutByOperation returns the object that the operation put at a name, or nil if the name has a different kind of file now.
func (u *undoRun) objectPutByOperation(s *undoStep) *fileObject {
	if s.After == none {
		return nil
	}
	if o := u.Objects[s.After]; o.isDir() == s.now.Mode.IsDir() {
		return o
	}
	return nil
}

// needsMoveBack reports whether an object has none of its former names.
func (u *undoRun) needsMoveBack(index int) bool {
	for _, home := range u.homes[index] {
		if home.After == index || home.done {
			return false
		}
	}
	return true
}

// replacesInOneRename reports whether a recreated regular file replaces a created one in a single rename.
func (u *undoRun) replacesInOneRename(s *undoStep) bool {
	if s.Before == none || s.After == none || len(u.places[s.Before]) > 0 {
		return false
	}
	before, after := u.Objects[s.Before], u.Objects[s.After]
	return before.isRegular() && after.isRegular() && after.Created && s.now.Mode.IsRegular()
}

// recheckStep returns the current file at the name of a step. It returns a conflict if the name changed after the plan
// was made.
func (u *undoRun) recheckStep(d *cachedDir, s *undoStep) (*fileStat, error) {
	now, err := d.statName(string(s.Name))
	if err != nil {
		return nil, err
	}
	if now == nil || now.ID != s.now.ID || !now.Mode.IsDir() && now.Changed != s.now.Changed && !u.touched[now.ID] {
		return nil, &PathConflict{s.at, changedSince}
	}
	return now, nil
}

// moveToTempName renames an object to a temporary name in the same directory.
func (u *undoRun) moveToTempName(d *cachedDir, s *undoStep, path string) (nameInDir, error) {
	temp := newTempName()
	u.touched[s.now.ID] = true
	u.recordChange(mutation.Rename, path, filepath.Join(d.path, temp))
	if err := d.renameNoReplace(string(s.Name), d.dirHandle, temp); err != nil {
		return nameInDir{}, err
	}
	if moved, err := d.statName(temp); err != nil || !isSameState(moved, s.now) {
		_ = d.renameNoReplace(temp, d.dirHandle, string(s.Name))
		return nameInDir{}, &PathConflict{s.at, changedSince}
	}
	if s.now.Mode.IsDir() {
		u.noteDirMoved(path, filepath.Join(d.path, temp))
	}
	return nameInDir{s.Dir, temp}, nil
}

// removeFile deletes a file or symlink if it is still the expected one.
func (u *undoRun) removeFile(d *cachedDir, name, path string, now *fileStat) error {
	if now.Mode.IsRegular() {
		if err := u.makeReadable(d, name, path, now); err != nil {
			return err
		}
	}
	u.recordChange(mutation.Remove, path, "")
	u.touched[now.ID] = true
	temp := newTempName()
	if err := d.renameNoReplace(name, d.dirHandle, temp); err != nil {
		return err
	}
	if err := checkRenamedFile(d, temp, now); err != nil {
		_ = d.renameNoReplace(temp, d.dirHandle, name)
		return err
	}
	return u.removeRenamedFile(d, temp, now)
}

// removeRenamedFile deletes a file at its temporary name. Its other hard links get their former mode back.
func (u *undoRun) removeRenamedFile(d *cachedDir, name string, n *fileStat) error {
	if mode, ok := u.closedFiles[n.ID]; ok {
		_ = d.root.Chmod(name, mode)
	}
	return d.root.Remove(name)
}

// makeReadable adds owner permissions to a file, so that the recorder can keep its contents.
func (u *undoRun) makeReadable(d *cachedDir, name, path string, now *fileStat) error {
	if now.Mode&0o600 == 0o600 {
		return nil
	}
	u.recordChange(mutation.Attribute, path, "")
	u.closedFiles[now.ID] = now.Mode &^ fs.ModeType
	return d.root.Chmod(name, now.Mode.Perm()|0o600)
}

// checkRenamedFile returns a conflict if a renamed file is not the expected one, or if a program has it open for
// writing.
func checkRenamedFile(d *cachedDir, name string, meant *fileStat) error {
	moved, err := d.statName(name)
	if err != nil || !isSameState(moved, meant) {
		return &PathConflict{name, changedSince}
	}
	if inUse := checkUnused(d, name); inUse != nil {
		return inUse
	}
	return nil
}

// isSameState reports whether a renamed file or directory is the expected one, in its state before.
func isSameState(moved, meant *fileStat) bool {
	return moved != nil && moved.ID == meant.ID && (moved.Mode.IsDir() || moved.Size == meant.Size && moved.Modified == meant.Modified)
}

// checkUnused returns a conflict if a program has a regular file open for writing.
func checkUnused(d *cachedDir, name string) *PathConflict {
	n, err := d.statName(name)
	if err != nil || n == nil || !n.Mode.IsRegular() {
		return nil
	}
	f, err := d.openChild(name)
	if err != nil {
		return nil // closed to its owner, so nobody has opened it since
	}
	defer func() { _ = f.Close() }()
	if err := checkNoWriter(f); err != nil {
		return &PathConflict{name, "is in use: " + err.Error()}
	}
	return nil
}

// removeForeignTree deletes a foreign file or directory tree. Only a forced undo calls it.
func (u *undoRun) removeForeignTree(d *cachedDir, name, path string) error {
	n, err := d.statName(name)
	if err != nil || n == nil {
		return err
	}
	if !n.Mode.IsDir() {
		u.recordChange(mutation.Remove, path, "")
		return d.root.Remove(name)
	}
	in, err := d.openSubdir(name)
	if err != nil {
		return err
	}
	names, err := in.listNames()
	for _, below := range names {
		if err == nil {
			err = u.removeForeignTree(&cachedDir{dirHandle: in}, below, filepath.Join(path, below))
		}
	}
	in.closeHandles()
	if err != nil {
		return err
	}
	u.recordChange(mutation.Remove, path, "")
	u.dirs.closeTree(path)
	return d.root.Remove(name)
}

// removeCreatedDirs deletes directories that the operation created. It puts staged objects back that could not be
// moved.
func (u *undoRun) removeCreatedDirs() error {
	u.moveBackFromTempNames(func(o *fileObject) bool { return !o.Created })
	err := u.eachStep(compareInnermost, func(s *undoStep) error {
		if s.After == none || s.Before == s.After || !u.Objects[s.After].isDir() || !u.Objects[s.After].Created || s.now == nil {
			return nil
		}
		at := nameInDir{s.Dir, string(s.Name)}
		if from, ok := u.staged[s.After]; ok {
			at = from
		}
		d, err := u.openCurrentDir(at.dir)
		if err != nil {
			return err
		}
		path := filepath.Join(d.path, at.name)
		u.recordChange(mutation.Remove, path, "")
		if d, err = u.openCurrentDir(at.dir); err != nil {
			return err
		}
		if err = d.root.Remove(at.name); err != nil && u.force && at.name != string(s.Name) { // its name is not free any more
			err = u.removeForeignTree(d, at.name, path)
		}
		if err == nil {
			u.dirs.closeTree(path)
			delete(u.staged, s.After)
			return nil
		}
		return &PathConflict{s.at, "contains something that the operation did not create"}
	})
	u.moveBackFromTempNames(func(*fileObject) bool { return true })
	return err
}

// moveBackFromTempNames moves selected staged objects back to the names that they had before this undo.
func (u *undoRun) moveBackFromTempNames(which func(*fileObject) bool) {
	for index, from := range u.staged {
		if which(u.Objects[index]) {
			u.moveBackFromTempName(index, from)
		}
	}
}

func (u *undoRun) moveBackFromTempName(index int, from nameInDir) {
	for _, s := range u.places[index] {
		d, err := u.openCurrentDir(from.dir)
		if err != nil {
			return
		}
		old, path := filepath.Join(d.path, from.name), filepath.Join(d.path, string(s.Name))
		u.recordChange(mutation.Rename, old, path)
		if d, err = u.openCurrentDir(from.dir); err != nil {
			return
		}
		if d.renameNoReplace(from.name, d.dirHandle, string(s.Name)) == nil {
			if u.Objects[index].isDir() {
				u.noteDirMoved(old, path)
			}
			delete(u.staged, index)
			s.blockStep(appearedThen)
			return
		}
	}
}
