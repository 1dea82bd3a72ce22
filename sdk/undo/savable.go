package undo

import (
	"errors"
	"fmt"
	"io/fs"
)

// blockUnsavable blocks the steps of a forced undo that would delete a file of others which the undo can't save.
func (p *undoPlan) blockUnsavable() {
	c := savableCheck{left: p.maxBytes, own: map[objectVersion]bool{}}
	for _, o := range p.Objects {
		if o.Created && o.After != nil {
			c.own[objectVersion{o.ID, o.After.Changed}] = true
		}
	}
	for _, s := range p.steps {
		if s.blocked != "" || s.done || s.now == nil || s.Dir == none || p.keepsCurrentObject(s) {
			continue
		}
		d := p.openDir(s.Dir)
		if d == nil {
			continue
		}
		if err := c.check(d.dirHandle, string(s.Name), s.now, true); err != nil {
			s.blockStep(fmt.Sprintf("can't be saved: %v; move it away first", stripErrorPath(err)))
		}
	}
}

// keepsCurrentObject reports whether the object at the name of a step exists after the undo, with its contents.
func (p *undoPlan) keepsCurrentObject(s *undoStep) bool {
	if s.After == none {
		return false
	}
	o := p.Objects[s.After]
	return !o.Created && p.isSameObject(s.now.ID, o.ID) && (o.isDir() || !o.Written)
}

// savableCheck checks whether an undo can save files before it deletes them.
type savableCheck struct {
	left int64                  // bytes that the undo can save in addition
	own  map[objectVersion]bool // files that the operation created and nobody has changed since
}

// check returns an error if a file, or a file in a directory, can't be saved. Undo makes a file at top readable.
func (c *savableCheck) check(d *dirHandle, name string, n *fileStat, top bool) error {
	switch {
	case n.Mode.IsDir():
		in, err := d.openSubdir(name)
		if err != nil {
			return err
		}
		defer in.closeHandles()
		names, err := in.listNames()
		for _, below := range names {
			at, statErr := in.statName(below)
			if err = errors.Join(err, statErr); err == nil && at != nil {
				err = c.check(in, below, at, false)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", below, stripErrorPath(err))
			}
		}
		return err
	case c.own[objectVersion{n.ID, n.Changed}]:
		return nil
	case n.Mode&(fs.ModeDevice|fs.ModeSocket) != 0:
		return errors.New("a device or a socket")
	case !n.Mode.IsRegular():
		return nil
	}
	if c.left -= n.Size; c.left < 0 {
		return fmt.Errorf("%s, more than one operation can save", formatSize(n.Size))
	}
	if top {
		return nil
	}
	f, err := d.openChild(name)
	if err != nil {
		return err
	}
	return f.Close()
}
