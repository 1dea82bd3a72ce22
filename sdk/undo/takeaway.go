package undo

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// vacateNewNames moves files to temporary names from names that the operation gave them. They are deleted, or moved to
// other names, when the former files can be restored.
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
		case after != nil && after.isDir() && after.Created && s.Before == none: // deleted when it is empty
			return nil
		case after != nil && u.replacesInOneRename(s): // the former file takes its place at once
			return nil
		case after != nil && (after.isDir() || !after.Created && len(u.homes[s.After]) > 0 && u.staged[s.After].name == "" && u.needsMoveBack(s.After)):
			at, moveErr := u.moveToTempName(d, s, path)
			if moveErr == nil {
				u.staged[s.After] = at
			}
			return moveErr
		case now.Mode.IsRegular():
			if err = u.makeReadable(d, string(s.Name), path, now); err != nil {
				return err
			}
		}
		if u.occupants[s], err = u.moveToTempName(d, s, path); err != nil {
			delete(u.occupants, s)
			return err
		}
		return checkRenamedFile(d, u.occupants[s].name, now)
	})
}

// settleOccupants deletes the files that vacateNewNames moved to temporary names and nothing needs any more. It moves
// a file back if the former object of its name was not restored.
func (u *undoRun) settleOccupants(failed bool) {
	for s, at := range u.occupants {
		d, err := u.openCurrentDir(at.dir)
		if err != nil {
			continue
		}
		temp, path := filepath.Join(d.path, at.name), filepath.Join(d.path, string(s.Name))
		if s.After != none && !u.Objects[s.After].Created && !u.force && u.alive[s.After].name == "" {
			s.blockStep(notMovedBack) // it has no other name
		}
		if s.blocked == "" && !failed {
			if err = u.removeForeignTree(d, at.name, temp, s.now); err == nil {
				continue
			}
			s.blockStep("can't be deleted: " + stripErrorPath(err).Error())
		}
		u.recordChange(mutation.Rename, temp, path)
		if err = d.renameNoReplace(at.name, d.dirHandle, string(s.Name)); err != nil { // the former file is there
			_ = u.removeForeignTree(d, at.name, temp, s.now)
			continue
		}
		if u.noteDirMoved(temp, path); u.closedFiles[s.now.ID] != 0 {
			_ = d.root.Chmod(string(s.Name), u.closedFiles[s.now.ID])
		}
	}
	clear(u.occupants)
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
		if home.done || home.After == index && home.blocked == "" {
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
	if !moved.Mode.IsRegular() {
		return nil
	}
	f, err := d.openChild(name)
	if err != nil {
		return nil //nolint:nilerr // closed to its owner, so nobody has opened it since
	}
	defer func() { _ = f.Close() }()
	if err := checkNoWriter(f); errors.Is(err, errInUse) {
		return &PathConflict{name, "is in use: " + err.Error()}
	}
	return nil
}

// isSameState reports whether a renamed file or directory is the expected one, in its state before.
func isSameState(moved, meant *fileStat) bool {
	return moved != nil && moved.ID == meant.ID && (moved.Mode.IsDir() || moved.Size == meant.Size && moved.Modified == meant.Modified)
}

// removeForeignTree deletes a file or, in a forced undo, a foreign directory tree.
func (u *undoRun) removeForeignTree(d *cachedDir, name, path string, n *fileStat) error {
	if !n.Mode.IsDir() {
		u.recordChange(mutation.Remove, path, "")
		return u.removeRenamedFile(d, name, n)
	}
	in, err := d.openSubdir(name)
	if err != nil {
		return err
	}
	names, err := in.listNames()
	for _, below := range names {
		n, statErr := in.statName(below)
		if err = errors.Join(err, statErr); err == nil && n != nil {
			err = u.removeForeignTree(&cachedDir{dirHandle: in}, below, filepath.Join(path, below), n)
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

// removeCreatedDirs deletes files and directories that the operation created. It puts staged objects back that could
// not be moved.
func (u *undoRun) removeCreatedDirs() error {
	u.settleOccupants(false)
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
			err = u.removeForeignTree(d, at.name, path, s.now)
		}
		if err == nil {
			u.dirs.closeTree(path)
			delete(u.staged, s.After)
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
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

// moveBackWithoutHome moves objects back whose former names all became conflicts, while the names are still free. The
// objects that had these names before the operation then become conflicts, too.
func (u *undoRun) moveBackWithoutHome() error {
	for staged := len(u.staged) + 1; len(u.staged) < staged; {
		staged = len(u.staged)
		for index, from := range u.staged {
			if !u.Objects[index].Created && u.findUnblockedStep(u.homes[index]) == nil {
				u.moveBackFromTempName(index, from)
			}
		}
	}
	return nil
}

func (u *undoRun) moveBackFromTempName(index int, from nameInDir) {
	for _, s := range u.places[index] {
		if s.Dir != from.dir {
			continue
		}
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
			s.blockStep(notMovedBack)
			return
		}
	}
}
