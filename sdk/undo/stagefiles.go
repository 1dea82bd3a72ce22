package undo

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// stageFiles writes the contents that are put back to the disk, under names of its own in directories that exist.
func (u *undoing) stageFiles() error {
	err := u.eachStep(compareOutermost, func(s *step) error {
		if s.Before == none || s.Dir == none || !u.Objects[s.Before].isRegular() {
			return nil
		}
		o := u.Objects[s.Before]
		if _, ok := u.ready[s.Before]; ok || !u.makesAnew(s, o) {
			return nil
		}
		return u.stageFile(s, o)
	})
	if err == nil && len(u.ready) > 0 {
		err = u.flushDisk()
	}
	if err != nil {
		u.dropReady()
	}
	return err
}

// makesAnew reports whether a file is made again, rather than changed where it is or given another name.
func (u *undoing) makesAnew(s *step, o *object) bool {
	if _, alive := u.alive[s.Before]; alive {
		return false
	}
	if len(u.places[s.Before]) == 0 {
		return true
	}
	place := u.findFreeStep(u.places[s.Before])
	return place != nil && place.now != nil && place.now.Links == 1 && o.mayHaveOthers() && !u.holdsContents(place, o)
}

// holdsContents reports whether a file has its former contents still: only its metadata changed, or the number of its names.
func (u *undoing) holdsContents(s *step, o *object) bool {
	if s.Dir == none || o.Prefix || s.now == nil || s.now.Size != o.Size {
		return false
	}
	former, err := u.contentsOf(o)
	if err != nil {
		return false
	}
	d, err := u.openCurrent(s.Dir)
	if err != nil {
		return false
	}
	f, err := d.openName(string(s.Name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return equalContents(f, former)
}

// equalContents reports whether two readers have the same bytes.
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

func (u *undoing) stageFile(s *step, o *object) error {
	index, d, err := u.stageDir(s.Dir)
	if err != nil {
		return err
	}
	contents, err := u.contentsOf(o)
	if o.Prefix {
		contents, err = u.beginningOf(s, o)
	}
	if err != nil {
		return err
	}
	if n, err := statFile(d.file); err == nil && u.times[index] == 0 {
		u.times[index] = n.Modified
	}
	temp := newTempName()
	u.ready[s.Before] = spot{index, temp}
	u.noticeChange(mutation.Make, filepath.Join(d.path, temp), "") // the time of the directory changes
	if err := writeFile(d, temp, contents); err != nil {
		return err
	}
	if err := o.toMeta().ApplyTo(d.root, temp); err != nil {
		return err
	}
	u.countOwner(d, temp, o)
	return nil
}

// stageDir returns a directory for files that wait to be put below another one: the outermost in the same mount,
// so that no name of undo's stands in a directory to which names mean something, such as git's.
func (u *undoing) stageDir(below int) (index int, d *openDir, err error) {
	index, mount := none, uint64(0)
	for at := below; at != none; at = u.homeDir(at) {
		if u.dirPath(at) == "" || u.Objects[at].Created {
			continue
		}
		dir, openErr := u.openCurrent(at)
		if openErr != nil {
			return none, nil, openErr
		}
		n, statErr := statFile(dir.file)
		if statErr != nil || index != none && n.Mount != mount {
			break
		}
		index, mount = at, n.Mount
	}
	if index == none {
		return none, nil, &Conflict{"", "is in a directory that can't be restored"}
	}
	d, err = u.openCurrent(index)
	return index, d, err
}

// homeDir returns the directory that a directory was in before the operation.
func (u *undoing) homeDir(index int) int {
	if home := u.findFreeStep(u.homes[index]); home != nil {
		return home.Dir
	}
	return u.Objects[index].Parent
}

// countOwner counts what was made again and can't be given to whom it belonged.
func (u *undoing) countOwner(d *openDir, name string, o *object) {
	if n, err := d.statName(name); err == nil && n != nil && (n.UID != o.UID || o.UID == nobody) {
		u.ownersLost++
	}
}

// dropReady deletes files that were made and are not needed.
func (u *undoing) dropReady() {
	for index, at := range u.ready {
		if d, err := u.openCurrent(at.dir); err == nil {
			_ = d.root.Remove(at.name)
		}
		delete(u.ready, index)
	}
}

// beginningOf returns the former contents of a file that had something added to its end.
func (u *undoing) beginningOf(s *step, o *object) (io.Reader, error) {
	d, err := u.openCurrent(s.Dir)
	if err != nil {
		return nil, err
	}
	f, err := d.openName(string(s.Name))
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

func writeFile(d *openDir, name string, contents io.Reader) error {
	f, err := d.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	return errors.Join(err, f.Close())
}
