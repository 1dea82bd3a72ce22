package undo

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// findObstacle returns why an entry that is as it was left can't get its former object back; empty if it can.
func (p *plan) findObstacle(s *step) string {
	if s.Before == s.After {
		if s.Before == none || p.Objects[s.Before].isDir() {
			return ""
		}
		return p.whyContentsMissing(s.Before)
	}
	if s.Dir != none && p.Objects[s.Dir].Now == "" {
		if home := p.findFreeStep(p.homes[s.Dir]); home == nil {
			return "is in a directory that can't be restored"
		}
	}
	if s.Before != none {
		if why := p.whyMissing(s); why != "" {
			return why
		}
		o := p.Objects[s.Before]
		grown := p.force && s.now != nil && s.now.Mode.IsRegular() && s.now.Size >= o.Size
		if o.Prefix && !grown && (s.After == none || !p.isAsLeft(s.now, p.Objects[s.After], nil)) {
			return "was not kept: only what was added to it is known"
		}
	}
	if s.After == none {
		return ""
	}
	o := p.Objects[s.After]
	switch {
	case !o.Created:
		if len(p.homes[s.After]) > 0 && p.findFreeStep(p.homes[s.After]) == nil {
			return "can't be moved back: its former place is taken"
		}
		if o.isDir() && !p.force {
			return p.findChangeBelow(s)
		}
	case o.isDir() && !p.force:
		return p.findForeignName(s)
	}
	return ""
}

// findFreeStep returns a step that nothing blocks, nil for none.
func (p *plan) findFreeStep(all []*step) *step {
	if i := slices.IndexFunc(all, func(s *step) bool { return s.blocked == "" }); i >= 0 {
		return all[i]
	}
	return nil
}

// isBack reports whether an object has one of its former names.
func (p *plan) isBack(index int) bool {
	return slices.ContainsFunc(p.homes[index], func(s *step) bool { return s.done })
}

// whyMissing returns why the former object of a name can't be restored; empty if it can.
func (p *plan) whyMissing(s *step) string {
	o := p.Objects[s.Before]
	if p.isBack(s.Before) { // under another of its names
		return ""
	}
	if places := p.places[s.Before]; len(places) > 0 { // it exists
		if p.findFreeStep(places) == nil {
			return "can't be moved back from " + places[0].at + ", which has changed since"
		}
		return p.whyContentsMissing(s.Before)
	}
	switch {
	case o.isDir() && o.Foreign && o.Now != "":
		return "was moved by somebody else while the operation ran"
	case o.isRegular() && o.Content == 0 && !o.Prefix:
		return "was not kept"
	}
	return ""
}

// whyContentsMissing returns why the former contents of an existing object can't be restored; empty if they can.
func (p *plan) whyContentsMissing(index int) string {
	o := p.Objects[index]
	if o.isRegular() && o.Written && o.Content == 0 && !o.Prefix && o.After != nil && o.After.Size != o.Size {
		return "was not kept"
	}
	return ""
}

// findChangeBelow looks for something in a moved directory that somebody changed since.
func (p *plan) findChangeBelow(s *step) (why string) {
	if s.now == nil {
		return changedSince
	}
	since := cmp.Or(p.Objects[s.After].Moved, p.Ended)
	if s.now.Modified > since && !p.Objects[s.After].Touched {
		return changedSince
	}
	opened := map[Identity]*node{} // directories as they were before the plan opened them to their owner
	for _, n := range p.nodes {
		if n != nil {
			opened[n.ID] = n
		}
	}
	p.dirs.walkTree(s.at, func(d *openDir, name string, n *node) bool {
		if before := opened[n.ID]; before != nil {
			n = before
		}
		if p.standsFor(version{n.ID, n.Changed}, func(v version) bool { return v.Changed <= since || p.isLeft(v) }) {
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
			if in.blocked != "" {
				return "has " + relativePath(s.at, in.at) + " in it, which stays"
			}
			if in.Before != none && p.Objects[in.Before].Changed > since { // by somebody else while the operation ran
				return "has " + relativePath(s.at, in.at) + " in it, which has changed since"
			}
		}
	}
	return why
}

// isLeft reports whether an object is in a state that the operation gave it.
func (p *plan) isLeft(v version) bool {
	if p.left == nil {
		p.left = map[version]bool{}
		for _, o := range p.Objects {
			if o.After != nil && !o.Foreign && (o.Created || o.After.Changed != o.Changed) {
				p.left[version{o.ID, o.After.Changed}] = true
			}
		}
	}
	return p.left[v]
}

// findForeignName looks for something in a directory of the operation's that is not the operation's, or that stays.
func (p *plan) findForeignName(s *step) string {
	ours := map[string]bool{}
	for _, in := range p.inside[s.After] {
		if in.blocked != "" && in.After != none || in.Before != none {
			return "has " + string(in.Name) + " in it, which stays"
		}
		ours[string(in.Name)] = true
	}
	dir, _, restore := p.dirs.openAnyway(s.at)
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
			return "has " + name + " in it, which the operation did not put there"
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
