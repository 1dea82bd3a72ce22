package undo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// restoreFiles restores the names and contents of files and symlinks, one step at a time.
func (u *undoRun) restoreFiles() error {
	done := map[int]bool{}
	for index := range u.alive {
		done[index] = u.hasFormerName(index)
	}
	return u.eachStep(compareOutermost, func(s *undoStep) error {
		if s.Before == none || u.Objects[s.Before].isDir() {
			return nil
		}
		if s.Dir == none {
			return u.restoreSingleFile(s)
		}
		o := u.Objects[s.Before]
		at, alive := u.alive[s.Before]
		if !alive && len(u.places[s.Before]) > 0 { // it has a name that nothing was done about
			if place := u.findUnblockedStep(u.places[s.Before]); place != nil && place.After == place.Before {
				at, alive = nameInDir{place.Dir, string(place.Name)}, true
			}
		}
		if alive && !done[s.Before] {
			done[s.Before] = true
			place := u.findUnblockedStep(u.places[s.Before])
			if place == nil && len(u.places[s.Before]) > 0 { // it was moved from there, and another object could not be moved back
				place = u.places[s.Before][0]
			}
			if place != nil && o.contentsMayDiffer() &&
				!u.hasFormerContents(&undoStep{entryChange: &entryChange{Dir: at.dir, Name: rawName(at.name)}, now: place.now}, o) {
				if err := u.restoreContents(at, s, o); err != nil {
					return u.blockLinks(s.Before, err)
				}
			}
		}
		if alive && (s.Before == s.After || at == nameInDir{s.Dir, string(s.Name)}) {
			return nil
		}
		if alive {
			if err := u.restoreHardLink(at, s); err != nil {
				return err
			}
			u.alive[s.Before] = nameInDir{s.Dir, string(s.Name)}
			return nil
		}
		if err := u.recreateFile(s, o); err != nil {
			return err
		}
		u.alive[s.Before], done[s.Before] = nameInDir{s.Dir, string(s.Name)}, true
		return nil
	})
}

// blockLinks blocks all steps that restore a name of a file whose contents or metadata can't be restored. It returns
// the error that prevents this.
func (u *undoRun) blockLinks(index int, err error) error {
	if err != nil && !endsUndo(err) {
		for _, s := range u.homes[index] {
			s.blockStep(conflictReason(err))
		}
	}
	return err
}

// contentsMayDiffer reports whether a file with kept contents may have other contents now.
func (o *fileObject) contentsMayDiffer() bool {
	return o.Written && (o.Content != 0 || o.Prefix) && o.After != nil && (o.differsAfter() || o.Shared)
}

// restoreHardLink restores another former name of an existing file.
func (u *undoRun) restoreHardLink(at nameInDir, s *undoStep) error {
	from, err := u.openCurrentDir(at.dir)
	if err != nil {
		return err
	}
	to, err := u.openCurrentDir(s.Dir)
	if err != nil {
		return err
	}
	path := filepath.Join(to.path, string(s.Name))
	if err = u.checkPermitted(mutation.Link, filepath.Join(from.path, at.name), path, false); err != nil {
		return err
	}
	if s.now == nil || !u.replacesInOneRename(s) {
		return conflictIfExists(u.linkOrCopy(from, at.name, to, string(s.Name), s))
	}
	if err = u.makeReadable(to, string(s.Name), path, s.now); err != nil {
		return err
	}
	u.recordChange(mutation.Write, path, "")
	replaced, err := to.statName(string(s.Name))
	if err != nil || replaced == nil {
		return &PathConflict{path, changedSince}
	}
	temp := newTempName()
	if err := u.linkOrCopy(from, at.name, to, temp, s); err != nil {
		return err
	}
	if err := u.replaceFile(to, temp, to, string(s.Name), replaced); err != nil {
		_ = to.root.Remove(temp)
		return err
	}
	return nil
}

// linkOrCopy creates another name of an existing file. It creates a copy if that is not possible: a sandbox shows some
// directories of a file system as mounts of their own.
func (u *undoRun) linkOrCopy(from *cachedDir, name string, to *cachedDir, newName string, s *undoStep) error {
	path := filepath.Join(to.path, newName)
	u.recordChange(mutation.Link, filepath.Join(from.path, name), path)
	err, o := from.createHardLink(name, to.dirHandle, newName), u.Objects[s.Before]
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || !o.isRegular() {
		return err
	}
	f, err := from.openChild(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	u.recordChange(mutation.Make, path, "")
	if err = writeNewFile(to, newName, f); err == nil {
		u.lostMetadata[s.path] = append(u.lostMetadata[s.path], "hard link")
		err = u.applyMeta(to, newName, s.path, o)
	}
	return err
}

// recreateFile restores a file, symlink or FIFO that no longer exists.
func (u *undoRun) recreateFile(s *undoStep, o *fileObject) error {
	d, err := u.openCurrentDir(s.Dir)
	if err != nil {
		return err
	}
	name := string(s.Name)
	path := filepath.Join(d.path, name)
	if o.isRegular() {
		replaced := s.now != nil && u.replacesInOneRename(s)
		if replaced {
			if err = u.makeReadable(d, name, path, s.now); err != nil {
				return err
			}
			u.recordChange(mutation.Write, path, "")
			now, statErr := d.statName(name)
			if statErr != nil || now == nil {
				return &PathConflict{path, changedSince}
			}
			return u.placeStagedFile(s.Before, d, name, now)
		}
		u.recordChange(mutation.Make, path, "")
		return u.placeStagedFile(s.Before, d, name, nil)
	}
	if len(u.places[s.Before]) > 0 || o.isUnrestorable() {
		return &PathConflict{path, notMovedBack}
	}
	if err = u.checkPermitted(mutation.Make, path, "", false); err != nil {
		return err
	}
	u.recordChange(mutation.Make, path, "")
	if o.Mode&fs.ModeSymlink != 0 {
		err = d.root.Symlink(string(o.Target), name)
	} else {
		err = d.makeFIFO(name)
	}
	if err == nil {
		err = u.applyMeta(d, name, s.path, o)
	}
	return conflictIfExists(err)
}

// placeStagedFile renames a staged file to its former name. It replaces the file at that name only if that is still the
// expected one.
func (u *undoRun) placeStagedFile(index int, d *cachedDir, name string, replaced *fileStat) error {
	at, ok := u.ready[index]
	if !ok {
		return &PathConflict{name, "was not kept"}
	}
	from, err := u.openCurrentDir(at.dir)
	if err != nil {
		return err
	}
	if err = u.checkPermitted(mutation.Rename, filepath.Join(from.path, at.name), filepath.Join(d.path, name), false); err != nil {
		return err
	}
	if replaced == nil {
		if err = from.renameNoReplace(at.name, d.dirHandle, name); err != nil {
			return conflictIfExists(err)
		}
		delete(u.ready, index)
		return nil
	}
	err = u.replaceFile(from, at.name, d, name, replaced)
	if err == nil {
		delete(u.ready, index)
	}
	return err
}

// replaceFile swaps a temporary file with the file at a name and deletes the replaced file. If the replaced file is not
// the expected one, it swaps both back and returns an error.
func (u *undoRun) replaceFile(from *cachedDir, temp string, d *cachedDir, name string, replaced *fileStat) error {
	aside := temp
	u.touched[replaced.ID] = true                                                  // its other names stay
	if err := exchangeNames(from.dirHandle, temp, d.dirHandle, name); err != nil { // a file system that can't
		aside = newTempName()
		if err := d.renameNoReplace(name, from.dirHandle, aside); err != nil {
			return err
		}
		if err := from.renameNoReplace(temp, d.dirHandle, name); err != nil {
			return errors.Join(err, from.renameNoReplace(aside, d.dirHandle, name))
		}
	}
	if err := checkRenamedFile(from, aside, replaced); err != nil {
		_ = exchangeNames(from.dirHandle, aside, d.dirHandle, name)
		return err
	}
	return u.removeRenamedFile(from, aside, replaced)
}

// restoreContents restores the former contents of an existing file. It replaces a file with one name, and overwrites a
// file with several hard links.
func (u *undoRun) restoreContents(at nameInDir, s *undoStep, o *fileObject) error {
	d, err := u.openCurrentDir(at.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, at.name)
	now, err := d.statName(at.name)
	if err != nil || now == nil {
		return &PathConflict{path, changedSince}
	}
	_, ready := u.ready[s.Before]
	if ready = ready && now.Links == 1; !ready {
		if err = u.checkPermitted(mutation.Write, path, "", false); err != nil {
			return err
		}
	}
	if err = u.makeReadable(d, at.name, path, now); err != nil {
		return err
	}
	u.recordChange(mutation.Write, path, "")
	if now, err = d.statName(at.name); err != nil || now == nil {
		return &PathConflict{path, changedSince}
	}
	if ready {
		return u.placeStagedFile(s.Before, d, at.name, now)
	}
	contents, err := u.openKeptContents(o)
	if err != nil {
		return err
	}
	return u.overwriteFile(d, at.name, now, contents)
}

func (u *undoRun) overwriteFile(d *cachedDir, name string, meant *fileStat, contents io.Reader) error {
	f, err := d.openChild(name)
	if err != nil {
		return err
	}
	err = checkNoWriter(f)
	_ = f.Close()
	if errors.Is(err, errInUse) {
		return &PathConflict{name, "is in use: " + err.Error()}
	}
	if f, err = d.openFileAt(name, os.O_WRONLY, 0); err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	n, err := statOpenFile(f)
	if err != nil || n.ID != meant.ID || n.Changed != meant.Changed {
		return &PathConflict{name, changedSince}
	}
	size, err := io.Copy(f, contents)
	if err != nil {
		return err
	}
	return f.Truncate(size)
}

// restoreSingleFile restores a file whose directory the policy does not open.
func (u *undoRun) restoreSingleFile(s *undoStep) error {
	o := u.Objects[s.Before]
	if o.isDir() {
		return nil
	}
	contents, err := u.openKeptContents(o)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(contents)
	if err != nil {
		return err
	}
	u.recordChange(mutation.Write, string(s.Name), "")
	meta := o.toFileMeta()
	return u.files.ApplyChanges(nil, workspace.FileChange{Path: string(s.Name), Meta: &meta, Change: func(*workspace.OldFile) ([]byte, error) {
		return data, nil
	}})
}

// listRestoredObjects returns the current versions of restored objects, each with the equal former version.
func (u *undoRun) listRestoredObjects() []restoredObject {
	all := slices.Clone(u.Restored)
	seen := map[int]bool{}
	add := func(o *fileObject, n *fileStat) {
		if n != nil && !seen[o.index] && o.ID != "" {
			seen[o.index] = true
			all = append(all, restoredObject{Was: objectVersion{o.ID, o.Changed}, Now: objectVersion{n.ID, n.Changed}})
		}
	}
	for _, s := range u.steps {
		if s.blocked != "" || s.Before == none {
			continue
		}
		if s.Dir == none {
			add(u.Objects[s.Before], statSingleFile(u.files, string(s.Name)))
			continue
		}
		if d, err := u.openCurrentDir(s.Dir); err == nil {
			n, _ := d.statName(string(s.Name))
			add(u.Objects[s.Before], n)
		}
	}
	for _, o := range u.Objects {
		if !o.isDir() || !o.Touched && len(u.inside[o.index]) == 0 {
			continue
		}
		if d, err := u.openCurrentDir(o.index); err == nil {
			n, _ := statOpenFile(d.file)
			add(o, n)
		}
	}
	u.dirs.closeAll()
	return all
}
