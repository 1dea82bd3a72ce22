package undo

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// obstacle says why an entry that is as it was left can't have its former object back; empty if it can.
func (p *plan) obstacle(s *step) string {
	if s.Before == s.After {
		if s.Before == none || p.Objects[s.Before].isDir() {
			return ""
		}
		return p.missingContents(s.Before)
	}
	if s.Dir != none && p.Objects[s.Dir].Now == "" {
		if home := p.free(p.homes[s.Dir]); home == nil {
			return "is in a directory that can't be restored"
		}
	}
	if s.Before != none {
		if why := p.missing(s); why != "" {
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
		if len(p.homes[s.After]) > 0 && p.free(p.homes[s.After]) == nil {
			return "can't be moved back: its former place is taken"
		}
		if o.isDir() && !p.force {
			return p.changedBelow(s)
		}
	case o.isDir() && !p.force:
		return p.notOurs(s)
	}
	return ""
}

// free returns a step that nothing blocks, nil for none.
func (p *plan) free(all []*step) *step {
	if i := slices.IndexFunc(all, func(s *step) bool { return s.blocked == "" }); i >= 0 {
		return all[i]
	}
	return nil
}

// isBack reports whether an object has one of its former names.
func (p *plan) isBack(index int) bool {
	return slices.ContainsFunc(p.homes[index], func(s *step) bool { return s.done })
}

// missing says why the object that had a name can't be had back.
func (p *plan) missing(s *step) string {
	o := p.Objects[s.Before]
	if p.isBack(s.Before) { // under another of its names
		return ""
	}
	if places := p.places[s.Before]; len(places) > 0 { // it exists
		if p.free(places) == nil {
			return "can't be moved back from " + places[0].at + ", which has changed since"
		}
		return p.missingContents(s.Before)
	}
	switch {
	case o.isDir() && o.Foreign && o.Now != "":
		return "was moved by somebody else while the operation ran"
	case o.isRegular() && o.Content == 0 && !o.Prefix:
		return "was not kept"
	}
	return ""
}

// missingContents says why the contents of an object that exists can't be had back.
func (p *plan) missingContents(index int) string {
	o := p.Objects[index]
	if o.isRegular() && o.Written && o.Content == 0 && !o.Prefix && o.After != nil && o.After.Size != o.Size {
		return "was not kept"
	}
	return ""
}

// changedBelow looks for something in a moved directory that somebody changed since.
func (p *plan) changedBelow(s *step) (why string) {
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
	p.dirs.walk(s.at, func(d *openDir, name string, n *node) bool {
		if before := opened[n.ID]; before != nil {
			n = before
		}
		if p.becomes(version{n.ID, n.Changed}, func(v version) bool { return v.Changed <= since || p.isLeft(v) }) {
			return true
		}
		why = "has " + relative(s.at, filepath.Join(d.path, name)) + " in it, which has changed since"
		return false
	})
	if why == "" {
		for _, in := range p.steps {
			if in.Dir == none || p.Objects[in.Dir].Now == "" || !strings.HasPrefix(in.at, s.at+"/") {
				continue
			}
			if in.blocked != "" {
				return "has " + relative(s.at, in.at) + " in it, which stays"
			}
			if in.Before != none && p.Objects[in.Before].Changed > since { // by somebody else while the operation ran
				return "has " + relative(s.at, in.at) + " in it, which has changed since"
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

// notOurs looks for something in a directory of the operation's that is not the operation's, or that stays.
func (p *plan) notOurs(s *step) string {
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
	names, err := dir.names()
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

func relative(dir, path string) string {
	rest, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return rest
}
