package undo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// stageFiles writes contents to restore into temporary files and syncs them, before undo changes any file.
func (u *undoRun) stageFiles() error {
	err := u.eachStep(compareOutermost, func(s *undoStep) error {
		if s.Before == none || s.Dir == none || !u.Objects[s.Before].isRegular() {
			return nil
		}
		o := u.Objects[s.Before]
		if _, ok := u.ready[s.Before]; ok || !u.needsNewFile(s, o) {
			return nil
		}
		return u.stageFile(s, o)
	})
	if err == nil && len(u.ready) > 0 {
		err = u.syncFiles()
	}
	if err != nil {
		u.removeStagedFiles()
	}
	return err
}

// needsNewFile reports whether a file must be recreated, rather than modified or renamed.
func (u *undoRun) needsNewFile(s *undoStep, o *fileObject) bool {
	if _, alive := u.alive[s.Before]; alive {
		return false
	}
	if len(u.places[s.Before]) == 0 {
		return true
	}
	place := u.findUnblockedStep(u.places[s.Before])
	return place != nil && place.now != nil && place.now.Links == 1 && !o.isIrreplaceable() && o.contentsMayDiffer() && !u.hasFormerContents(place, o)
}

// hasFormerContents reports whether the current file has the same contents as the kept ones.
func (u *undoRun) hasFormerContents(s *undoStep, o *fileObject) bool {
	if s.Dir == none || o.Prefix || s.now == nil || s.now.Size != o.Size {
		return false
	}
	former, err := u.openKeptContents(o)
	if err != nil {
		return false
	}
	d, err := u.openCurrentDir(s.Dir)
	if err != nil {
		return false
	}
	f, err := d.openChild(string(s.Name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return equalContents(f, former)
}

// equalContents reports whether two readers return the same bytes.
func equalContents(a, b io.Reader) bool {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return errA == errB //nolint:errorlint // both are ends
		}
	}
}

func (u *undoRun) stageFile(s *undoStep, o *fileObject) error {
	contents, err := u.openKeptContents(o)
	if o.Prefix {
		contents, err = u.readFormerPrefix(s, o)
	}
	if err != nil {
		return err
	}
	index, d, err := u.findStageDir(s.Dir)
	if err != nil {
		return err
	}
	if n, statErr := statOpenFile(d.file); statErr == nil && u.times[index] == 0 {
		u.times[index] = n.Modified
	}
	temp := newTempName()
	u.recordChange(mutation.Make, filepath.Join(d.path, temp), "") // the time of the directory changes
	err = writeNewFile(d, temp, contents)
	if isRefused(err) && index != s.Dir { // a directory further in may be writable
		u.unwritable[index] = true
		return u.stageFile(s, o)
	}
	if err != nil {
		return err
	}
	u.ready[s.Before] = nameInDir{index, temp}
	return u.applyMeta(d, temp, s.path, o)
}

// isRefused reports whether the system does not permit a change in a directory.
func isRefused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// findStageDir returns the directory for temporary files that will move below another directory. It is the outermost
// directory on the same mount and device, so no temporary name appears in a directory such as .git where names have a meaning.
func (u *undoRun) findStageDir(below int) (index int, d *cachedDir, err error) {
	index, mount, device := none, uint64(0), uint64(0)
	for at := below; at != none; at = u.formerParent(at) {
		if u.currentDirPath(at) == "" || u.Objects[at].Created || u.unwritable[at] {
			continue
		}
		dir, openErr := u.openCurrentDir(at)
		if openErr != nil {
			return none, nil, openErr
		}
		n, statErr := statOpenFile(dir.file)
		if statErr != nil || index != none && (n.Mount != mount || n.Device != device) {
			break
		}
		index, mount, device = at, n.Mount, n.Device
	}
	if index == none {
		return none, nil, &PathConflict{"", "is in a directory that can't be restored"}
	}
	d, err = u.openCurrentDir(index)
	return index, d, err
}

// formerParent returns the index of a directory's parent before the operation.
func (u *undoRun) formerParent(index int) int {
	if home := u.findUnblockedStep(u.homes[index]); home != nil {
		return home.Dir
	}
	return u.Objects[index].Parent
}

// isIrreplaceable reports whether a new file may not get the metadata of a file, whose contents are overwritten then.
func (o *fileObject) isIrreplaceable() bool {
	return !o.Prefix && (o.UID == nobody || o.GID == nobody || o.Attributes[workspace.AccessList] != nil || o.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0)
}

// removeStagedFiles deletes temporary files that were not used.
func (u *undoRun) removeStagedFiles() error {
	for index, at := range u.ready {
		if d, err := u.openCurrentDir(at.dir); err == nil {
			_ = d.root.Remove(at.name)
		}
		delete(u.ready, index)
	}
	return nil
}

// readFormerPrefix returns the former contents of a file that the operation only appended to.
func (u *undoRun) readFormerPrefix(s *undoStep, o *fileObject) (io.Reader, error) {
	d, err := u.openCurrentDir(s.Dir)
	if err != nil {
		return nil, err
	}
	f, err := d.openChild(string(s.Name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, o.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return bytes.NewReader(data), nil
}

// writeNewFile creates a file, and deletes it again if it can't write all contents.
func writeNewFile(d *cachedDir, name string, contents io.Reader) error {
	f, err := d.openFileAt(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = d.root.Remove(name)
	}
	return err
}
