package undo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// putFiles restores files and links one by one.
func (u *undoing) putFiles() error {
	done := map[int]bool{}
	for index := range u.alive {
		done[index] = u.isBack(index)
	}
	return u.each(outermost, func(s *step) error {
		if s.Before == none || u.Objects[s.Before].isDir() {
			return nil
		}
		if s.Dir == none {
			return u.putClosed(s)
		}
		o := u.Objects[s.Before]
		at, alive := u.alive[s.Before]
		if !alive && len(u.places[s.Before]) > 0 { // it has a name that nothing was done about
			if place := u.free(u.places[s.Before]); place != nil && place.After == place.Before {
				at, alive = spot{place.Dir, string(place.Name)}, true
			}
		}
		if alive && !done[s.Before] {
			done[s.Before] = true
			if place := u.free(u.places[s.Before]); o.mayHaveOthers() && !u.holds(&step{entry: &entry{Dir: at.dir, Name: rawText(at.name)}, now: place.now}, o) {
				if err := u.rewrite(at, s, o); err != nil {
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
		if err := u.create(s, o); err != nil {
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
	from, err := u.dir(at.dir)
	if err != nil {
		return err
	}
	to, err := u.dir(s.Dir)
	if err != nil {
		return err
	}
	path := filepath.Join(to.path, string(s.Name))
	if err := u.allow(mutation.Link, filepath.Join(from.path, at.name), path, false); err != nil {
		return err
	}
	if s.now == nil || !u.replaces(s) {
		u.notice(mutation.Link, filepath.Join(from.path, at.name), path)
		return occupied(from.link(at.name, to.directory, string(s.Name)))
	}
	if err := u.makeReadable(to, string(s.Name), path, s.now); err != nil {
		return err
	}
	u.notice(mutation.Write, path, "")
	replaced, err := to.stat(string(s.Name))
	if err != nil || replaced == nil {
		return &Conflict{path, changedSince}
	}
	temp := newTempName()
	u.notice(mutation.Link, filepath.Join(from.path, at.name), filepath.Join(to.path, temp))
	if err := from.link(at.name, to.directory, temp); err != nil {
		return err
	}
	if err := u.putInPlace(to, temp, to, string(s.Name), replaced); err != nil {
		_ = to.root.Remove(temp)
		return err
	}
	return nil
}

// create makes a file or link again.
func (u *undoing) create(s *step, o *object) error {
	d, err := u.dir(s.Dir)
	if err != nil {
		return err
	}
	name := string(s.Name)
	path := filepath.Join(d.path, name)
	if o.isRegular() {
		replaced := s.now != nil && u.replaces(s)
		if replaced {
			if err := u.makeReadable(d, name, path, s.now); err != nil {
				return err
			}
			u.notice(mutation.Write, path, "")
			now, err := d.stat(name)
			if err != nil || now == nil {
				return &Conflict{path, changedSince}
			}
			return u.putReady(s.Before, d, name, now)
		}
		u.notice(mutation.Make, path, "")
		return u.putReady(s.Before, d, name, nil)
	}
	if err := u.allow(mutation.Make, path, "", false); err != nil {
		return err
	}
	u.notice(mutation.Make, path, "")
	if o.Mode&fs.ModeSymlink != 0 {
		err = d.root.Symlink(string(o.Target), name)
	} else {
		err = d.mkfifo(name)
	}
	if err == nil {
		err = o.meta().ApplyTo(d.root, name)
		u.countOwner(d, name, o)
	}
	return occupied(err)
}

// putReady puts a file that was made again under a name, in the place of what has it, if that is what was looked at.
func (u *undoing) putReady(index int, d *openDir, name string, replaced *node) error {
	at, ok := u.ready[index]
	if !ok {
		return &Conflict{name, "was not kept"}
	}
	from, err := u.dir(at.dir)
	if err != nil {
		return err
	}
	if err := u.allow(mutation.Rename, filepath.Join(from.path, at.name), filepath.Join(d.path, name), false); err != nil {
		return err
	}
	if replaced == nil {
		if err := from.rename(at.name, d.directory, name); err != nil {
			return occupied(err)
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
		if err := d.rename(name, from.directory, aside); err != nil {
			return err
		}
		if err := from.rename(temp, d.directory, name); err != nil {
			return errors.Join(err, from.rename(aside, d.directory, name))
		}
	}
	if err := checkMoved(from, aside, replaced); err != nil {
		_ = renameExchange(from.directory, aside, d.directory, name)
		return err
	}
	return u.removeAside(from, aside, replaced)
}

// rewrite gives a file that exists its former contents back. A file of one name is replaced; one of several is written
// to, since all of its names have the contents.
func (u *undoing) rewrite(at spot, s *step, o *object) error {
	d, err := u.dir(at.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, at.name)
	now, err := d.stat(at.name)
	if err != nil || now == nil {
		return &Conflict{path, changedSince}
	}
	if err := u.makeReadable(d, at.name, path, now); err != nil {
		return err
	}
	u.notice(mutation.Write, path, "")
	if now, err = d.stat(at.name); err != nil || now == nil {
		return &Conflict{path, changedSince}
	}
	if _, ready := u.ready[s.Before]; ready && now.Links == 1 {
		return u.putReady(s.Before, d, at.name, now)
	}
	contents, err := u.contentsOf(o)
	if err != nil {
		return err
	}
	return u.overwrite(d, at.name, now, contents)
}

func (u *undoing) overwrite(d *openDir, name string, meant *node, contents io.Reader) error {
	f, err := d.open(name)
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
	u.notice(mutation.Write, string(s.Name), "")
	meta := o.meta()
	return u.files.ApplyEdits(nil, workspace.Edit{Path: string(s.Name), Meta: &meta, Change: func(*workspace.OldFile) ([]byte, error) {
		return data, nil
	}})
}

// putMeta gives files the metadata back that they had.
func (u *undoing) putMeta() error {
	done := map[int]bool{}
	return u.each(outermost, func(s *step) error {
		if s.Before == none || s.Dir == none || done[s.Before] || u.Objects[s.Before].isDir() {
			return nil
		}
		o := u.Objects[s.Before]
		done[s.Before] = true
		if o.After == nil || !o.Written && !o.Attributed || o.After.Changed == o.Changed && len(u.places[s.Before]) > 0 && s.Before == s.After {
			return nil // made again with it, or never changed
		}
		d, err := u.dir(s.Dir)
		if err != nil {
			return err
		}
		if now, err := d.stat(string(s.Name)); err != nil || now == nil || now.Mode.Type() != o.Mode.Type() {
			return err
		}
		path := filepath.Join(d.path, string(s.Name))
		if err := u.allow(mutation.Attribute, path, "", false); err != nil && o.Attributed {
			return err
		}
		u.notice(mutation.Attribute, path, "")
		return o.meta().ApplyTo(d.root, string(s.Name))
	})
}

// putDirMeta gives directories their metadata back, the innermost first: restoring what is in them changed their times.
func (u *undoing) putDirMeta() error {
	type dirAt struct {
		o    *object
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
		if path := u.dirPath(index); o.Now != "" && u.isInMoved(string(o.Now)) {
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
		if d, err := u.dir(index); err == nil && !wanted[index] {
			_ = d.root.Chtimes(".", time.Time{}, time.Unix(0, modified))
		}
	}
	for _, at := range all {
		if err := u.giveDirMeta(at.o, at.path); err != nil {
			return err
		}
		delete(u.opened, at.path)
	}
	u.closeOpened()
	return nil
}

func (u *undoing) giveDirMeta(o *object, path string) error {
	meta := o.meta()
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
		return u.giveTopMeta(path, meta)
	}
	parent := u.dirs.open(filepath.Dir(path))
	if parent == nil {
		return u.giveTopMeta(path, meta)
	}
	name := filepath.Base(path)
	is, err := parent.stat(name)
	if _, moved := u.paths[o.index]; err != nil || is == nil || !is.Mode.IsDir() || !moved && !u.isSame(is.ID, o.ID) {
		return nil //nolint:nilerr // somebody else moved or deleted it
	}
	u.notice(mutation.Attribute, path, "")
	err = meta.ApplyTo(parent.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// giveTopMeta gives a directory its metadata whose parent is closed.
func (u *undoing) giveTopMeta(path string, meta workspace.FileMeta) error {
	d, err := openDirectory(u.files, path)
	if err != nil {
		return nil //nolint:nilerr // it was deleted
	}
	defer d.close()
	u.notice(mutation.Attribute, path, "")
	return meta.ApplyTo(d.root, ".")
}

// restored says which objects stand for the former ones now.
func (u *undoing) restored() []restored {
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
		if d, err := u.dir(s.Dir); err == nil {
			n, _ := d.stat(string(s.Name))
			add(u.Objects[s.Before], n)
		}
	}
	for _, s := range u.steps {
		if s.Dir == none {
			continue
		}
		if d, err := u.dir(s.Dir); err == nil {
			n, _ := statFile(d.file)
			add(u.Objects[s.Dir], n)
		}
	}
	u.dirs.clear()
	return all
}
