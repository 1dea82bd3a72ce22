package undo

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// findObstacle returns the reason that undo can't restore an entry, or "". The entry must be unchanged since the
// operation.
func (p *undoPlan) findObstacle(s *undoStep) string {
	if s.Before == s.After {
		if s.Before == none {
			return ""
		}
		if o := p.Objects[s.Before]; o.isDir() {
			now := p.nodes[o.index]
			if now == nil || o.After == nil {
				return "can't be looked into"
			}
			if _, isConflict := p.mergeDirMeta(o, now.Mode, p.openDir(o.index)); isConflict {
				return changedSince
			}
			return ""
		}
		return p.whyContentsUnrestorable(s.Before)
	}
	if s.Dir != none && p.Objects[s.Dir].Now == "" {
		if home := p.findUnblockedStep(p.homes[s.Dir]); home == nil {
			return "is in a directory that can't be restored"
		}
	}
	if s.Before != none {
		if why := p.whyUnrestorable(s); why != "" {
			if p.force && s.After != none && len(p.homes[s.After]) > 0 { // its present object can be moved back
				p.dropFormerObject(s, why)
				return ""
			}
			return why
		}
		o := p.Objects[s.Before]
		grown := p.force && s.now != nil && s.now.Mode.IsRegular() && s.now.Size >= o.Size
		if o.Prefix && !grown && (s.After == none || !p.isUnchangedSince(s.now, p.Objects[s.After], nil)) {
			return "was not saved: only the appended part is known"
		}
	}
	if s.After == none {
		return ""
	}
	o := p.Objects[s.After]
	switch {
	case !o.Created:
		if len(p.homes[s.After]) > 0 && p.findUnblockedStep(p.homes[s.After]) == nil {
			return "can't be moved back: its former path exists"
		}
		if o.isDir() && !p.force {
			return p.whyMovedDirChanged(s)
		}
	case o.isDir() && !p.force:
		return p.whyDirUnremovable(s)
	}
	return ""
}

// checkMutable returns an error if the kernel refuses every change of a step's file or, for a change of its name, of its
// directory.
func (p *undoPlan) checkMutable(s *undoStep) error {
	if s.Dir == none || p.Objects[s.Dir].Now == "" {
		return nil
	}
	d := p.openDir(s.Dir)
	if d == nil {
		return nil
	}
	var err error
	if s.now != nil && s.now.Mode&fs.ModeSymlink == 0 {
		err = d.checkMutable(string(s.Name))
	}
	if err == nil && s.Before != s.After {
		err = d.checkMutable(".")
	}
	if err != nil {
		return fmt.Errorf("can't be changed: %w", err)
	}
	return nil
}

// findUnblockedStep returns the first step that is not blocked, or nil.
func (p *undoPlan) findUnblockedStep(all []*undoStep) *undoStep {
	if i := slices.IndexFunc(all, func(s *undoStep) bool { return s.blocked == "" }); i >= 0 {
		return all[i]
	}
	return nil
}

// hasFormerName reports whether an object already has one of its former names.
func (p *undoPlan) hasFormerName(index int) bool {
	return slices.ContainsFunc(p.homes[index], func(s *undoStep) bool { return s.done })
}

// whyUnrestorable returns the reason that the object at the step's name before the operation can't be restored, or "".
func (p *undoPlan) whyUnrestorable(s *undoStep) string {
	o := p.Objects[s.Before]
	if p.hasFormerName(s.Before) { // under another of its names
		return ""
	}
	if places := p.places[s.Before]; len(places) > 0 { // it exists
		if p.findUnblockedStep(places) == nil {
			return "can't be moved back from " + places[0].at + ", which has changed since"
		}
		return p.whyContentsUnrestorable(s.Before)
	}
	switch {
	case o.isDir() && o.Foreign && o.Now != "":
		return "was moved by somebody else while the operation ran"
	case o.isDir() && o.Now != "" && p.openDir(s.Before) == nil:
		return "was moved or deleted since"
	case o.isRegular() && o.Content == 0 && !o.Prefix:
		return "was not kept"
	}
	return ""
}

// dropFormerObject splits a step whose former object is lost: the name is vacated, and the former object is a conflict.
func (p *undoPlan) dropFormerObject(s *undoStep, why string) {
	lost, rest := *s, *s.entryChange
	lost.blocked, lost.now, rest.Before = why, nil, none
	p.homes[s.Before] = []*undoStep{&lost}
	s.entryChange = &rest
	p.steps = append(p.steps, &lost)
}

// whyContentsUnrestorable returns the reason that the former contents of an existing file can't be restored, or "".
func (p *undoPlan) whyContentsUnrestorable(index int) string {
	o := p.Objects[index]
	if o.isRegular() && o.Written && o.Content == 0 && !o.Prefix && o.After != nil && o.After.Size != o.Size {
		return "was not kept"
	}
	return ""
}

// whyMovedDirChanged returns a conflict reason if another program changed something in a moved directory, or "".
func (p *undoPlan) whyMovedDirChanged(s *undoStep) (why string) {
	if s.now == nil {
		return changedSince
	}
	since := cmp.Or(p.Objects[s.After].Moved, p.Ended)
	if s.now.Modified > since && !p.Objects[s.After].Touched {
		return changedSince
	}
	opened := map[FileIdentity]*fileStat{} // directories as they were before the plan opened them to their owner
	for _, n := range p.nodes {
		if n != nil {
			opened[n.ID] = n
		}
	}
	p.dirs.walkTree(s.at, func(d *cachedDir, name string, n *fileStat) bool {
		if before := opened[n.ID]; before != nil {
			n = before
		}
		if p.matchesVersion(objectVersion{n.ID, n.Changed}, func(v objectVersion) bool { return v.Changed <= since || p.wasLeftByOperation(v) }) {
			return true
		}
		why = "has " + relativePath(s.at, filepath.Join(d.path, name)) + " in it, which has changed since"
		return false
	})
	if why == "" {
		for _, in := range p.steps {
			if in.Dir == none || p.Objects[in.Dir].Now == "" || !strings.HasPrefix(in.at, s.at+"/") {
				continue
			}
			if in.blocked != "" && (in.After != none || in.now != nil) {
				return "has " + relativePath(s.at, in.at) + " in it, which stays"
			}
			if in.Before != none && p.Objects[in.Before].Changed > since { // by somebody else while the operation ran
				return "has " + relativePath(s.at, in.at) + " in it, which has changed since"
			}
		}
	}
	return why
}

// wasLeftByOperation reports whether the operation left an object with this identity and change time.
func (p *undoPlan) wasLeftByOperation(v objectVersion) bool {
	if p.left == nil {
		p.left = map[objectVersion]bool{}
		for _, o := range p.Objects {
			if o.After != nil && !o.Foreign && (o.Created || o.After.Changed != o.Changed) {
				p.left[objectVersion{o.ID, o.After.Changed}] = true
			}
		}
	}
	return p.left[v]
}

// whyDirUnremovable returns a conflict reason if a created directory contains a name that undo does not remove, or "".
func (p *undoPlan) whyDirUnremovable(s *undoStep) string {
	ours := map[string]bool{}
	for _, in := range p.inside[s.After] {
		if in.blocked != "" && in.After != none || in.Before != none {
			return "has " + string(in.Name) + " in it, which stays"
		}
		ours[string(in.Name)] = true
	}
	dir, _, restore := p.dirs.openInaccessible(s.at)
	if dir == nil {
		return "can't be looked into"
	}
	defer restore()
	names, err := dir.listNames()
	if err != nil {
		return "can't be looked into"
	}
	for _, name := range names {
		if !ours[name] {
			return "has " + name + " in it, which the operation did not create"
		}
	}
	return ""
}

func relativePath(dir, path string) string {
	rest, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return rest
}
