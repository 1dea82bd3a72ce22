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

// putFiles restores files and links one by one.
func (u *undoing) putFiles() error {
	done := map[int]bool{}
	for index := range u.alive {
		done[index] = u.isBack(index)
	}
	return u.eachStep(compareOutermost, func(s *step) error {
		if s.Before == none || u.Objects[s.Before].isDir() {
			return nil
		}
		if s.Dir == none {
			return u.putClosed(s)
		}
		o := u.Objects[s.Before]
		at, alive := u.alive[s.Before]
		if !alive && len(u.places[s.Before]) > 0 { // it has a name that nothing was done about
			if place := u.findFreeStep(u.places[s.Before]); place != nil && place.After == place.Before {
				at, alive = spot{place.Dir, string(place.Name)}, true
			}
		}
		if alive && !done[s.Before] {
			done[s.Before] = true
			if place := u.findFreeStep(u.places[s.Before]); o.mayHaveOthers() && !u.holdsContents(&step{entry: &entry{Dir: at.dir, Name: rawText(at.name)}, now: place.now}, o) {
				if err := u.rewriteFile(at, s, o); err != nil {
					return err
				}
			}
		}
		if alive && (s.Before == s.After || at == spot{s.Dir, string(s.Name)}) {
			return nil
		}
		if alive {
			return u.linkTo(at, s)
		}
		if err := u.createFile(s, o); err != nil {
			return err
		}
		u.alive[s.Before], done[s.Before] = spot{s.Dir, string(s.Name)}, true
		return nil
	})
}

// mayHaveOthers reports whether a file of which contents were kept may have others now.
func (o *object) mayHaveOthers() bool {
	return o.Written && (o.Content != 0 || o.Prefix) && o.After != nil && o.After.Changed != o.Changed
}

// linkTo gives a file another of its names back.
func (u *undoing) linkTo(at spot, s *step) error {
	from, err := u.openCurrent(at.dir)
	if err != nil {
		return err
	}
	to, err := u.openCurrent(s.Dir)
	if err != nil {
		return err
	}
	path := filepath.Join(to.path, string(s.Name))
	if err = u.allowChange(mutation.Link, filepath.Join(from.path, at.name), path, false); err != nil {
		return err
	}
	if s.now == nil || !u.replacesFile(s) {
		u.noticeChange(mutation.Link, filepath.Join(from.path, at.name), path)
		return occupiedConflict(from.linkName(at.name, to.directory, string(s.Name)))
	}
	if err = u.makeReadable(to, string(s.Name), path, s.now); err != nil {
		return err
	}
	u.noticeChange(mutation.Write, path, "")
	replaced, err := to.statName(string(s.Name))
	if err != nil || replaced == nil {
		return &Conflict{path, changedSince}
	}
	temp := newTempName()
	u.noticeChange(mutation.Link, filepath.Join(from.path, at.name), filepath.Join(to.path, temp))
	if err := from.linkName(at.name, to.directory, temp); err != nil {
		return err
	}
	if err := u.putInPlace(to, temp, to, string(s.Name), replaced); err != nil {
		_ = to.root.Remove(temp)
		return err
	}
	return nil
}

// createFile makes a file or link again.
func (u *undoing) createFile(s *step, o *object) error {
	d, err := u.openCurrent(s.Dir)
	if err != nil {
		return err
	}
	name := string(s.Name)
	path := filepath.Join(d.path, name)
	if o.isRegular() {
		replaced := s.now != nil && u.replacesFile(s)
		if replaced {
			if err = u.makeReadable(d, name, path, s.now); err != nil {
				return err
			}
			u.noticeChange(mutation.Write, path, "")
			now, statErr := d.statName(name)
			if statErr != nil || now == nil {
				return &Conflict{path, changedSince}
			}
			return u.putReady(s.Before, d, name, now)
		}
		u.noticeChange(mutation.Make, path, "")
		return u.putReady(s.Before, d, name, nil)
	}
	if err = u.allowChange(mutation.Make, path, "", false); err != nil {
		return err
	}
	u.noticeChange(mutation.Make, path, "")
	if o.Mode&fs.ModeSymlink != 0 {
		err = d.root.Symlink(string(o.Target), name)
	} else {
		err = d.makeFIFO(name)
	}
	if err == nil {
		err = o.toMeta().ApplyTo(d.root, name)
		u.countOwner(d, name, o)
	}
	return occupiedConflict(err)
}

// putReady puts a file that was made again under a name, in the place of what has it, if that is what was looked at.
func (u *undoing) putReady(index int, d *openDir, name string, replaced *node) error {
	at, ok := u.ready[index]
	if !ok {
		return &Conflict{name, "was not kept"}
	}
	from, err := u.openCurrent(at.dir)
	if err != nil {
		return err
	}
	if err = u.allowChange(mutation.Rename, filepath.Join(from.path, at.name), filepath.Join(d.path, name), false); err != nil {
		return err
	}
	if replaced == nil {
		if err = from.renameToFree(at.name, d.directory, name); err != nil {
			return occupiedConflict(err)
		}
		delete(u.ready, index)
		return nil
	}
	err = u.putInPlace(from, at.name, d, name, replaced)
	if err == nil {
		delete(u.ready, index)
	}
	return err
}

// putInPlace moves what is at a name into the place of another, which is deleted if it is what was looked at; else the
// two change places again.
func (u *undoing) putInPlace(from *openDir, temp string, d *openDir, name string, replaced *node) error {
	aside := temp
	if err := renameExchange(from.directory, temp, d.directory, name); err != nil { // a file system that can't
		aside = newTempName()
		if err := d.renameToFree(name, from.directory, aside); err != nil {
			return err
		}
		if err := from.renameToFree(temp, d.directory, name); err != nil {
			return errors.Join(err, from.renameToFree(aside, d.directory, name))
		}
	}
	if err := checkMoved(from, aside, replaced); err != nil {
		_ = renameExchange(from.directory, aside, d.directory, name)
		return err
	}
	return u.removeAside(from, aside, replaced)
}

// rewriteFile gives a file that exists its former contents back. A file of one name is replaced; one of several is written
// to, since all of its names have the contents.
func (u *undoing) rewriteFile(at spot, s *step, o *object) error {
	d, err := u.openCurrent(at.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, at.name)
	now, err := d.statName(at.name)
	if err != nil || now == nil {
		return &Conflict{path, changedSince}
	}
	if err = u.makeReadable(d, at.name, path, now); err != nil {
		return err
	}
	u.noticeChange(mutation.Write, path, "")
	if now, err = d.statName(at.name); err != nil || now == nil {
		return &Conflict{path, changedSince}
	}
	if _, ready := u.ready[s.Before]; ready && now.Links == 1 {
		return u.putReady(s.Before, d, at.name, now)
	}
	contents, err := u.contentsOf(o)
	if err != nil {
		return err
	}
	return u.overwriteFile(d, at.name, now, contents)
}

func (u *undoing) overwriteFile(d *openDir, name string, meant *node, contents io.Reader) error {
	f, err := d.openName(name)
	if err != nil {
		return err
	}
	err = checkUnused(f)
	_ = f.Close()
	if err != nil {
		return &Conflict{name, "is in use: " + err.Error()}
	}
	if f, err = d.openFile(name, os.O_WRONLY, 0); err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	n, err := statFile(f)
	if err != nil || n.ID != meant.ID || n.Changed != meant.Changed {
		return &Conflict{name, changedSince}
	}
	size, err := io.Copy(f, contents)
	if err != nil {
		return err
	}
	return f.Truncate(size)
}

// putClosed restores a single file whose directory is closed, and the metadata of a directory whose parent is.
func (u *undoing) putClosed(s *step) error {
	o := u.Objects[s.Before]
	if o.isDir() {
		return nil
	}
	contents, err := u.contentsOf(o)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(contents)
	if err != nil {
		return err
	}
	u.noticeChange(mutation.Write, string(s.Name), "")
	meta := o.toMeta()
	return u.files.ApplyEdits(nil, workspace.Edit{Path: string(s.Name), Meta: &meta, Change: func(*workspace.OldFile) ([]byte, error) {
		return data, nil
	}})
}

// listRestored returns the objects that stand for former ones now.
func (u *undoing) listRestored() []restored {
	all := slices.Clone(u.Restored)
	seen := map[int]bool{}
	add := func(o *object, n *node) {
		if n != nil && !seen[o.index] && o.ID != "" {
			seen[o.index] = true
			all = append(all, restored{Was: version{o.ID, o.Changed}, Now: version{n.ID, n.Changed}})
		}
	}
	for _, s := range u.steps {
		if s.blocked != "" || s.Before == none {
			continue
		}
		if s.Dir == none {
			add(u.Objects[s.Before], statClosed(u.files, string(s.Name)))
			continue
		}
		if d, err := u.openCurrent(s.Dir); err == nil {
			n, _ := d.statName(string(s.Name))
			add(u.Objects[s.Before], n)
		}
	}
	for _, s := range u.steps {
		if s.Dir == none {
			continue
		}
		if d, err := u.openCurrent(s.Dir); err == nil {
			n, _ := statFile(d.file)
			add(u.Objects[s.Dir], n)
		}
	}
	u.dirs.closeAll()
	return all
}
