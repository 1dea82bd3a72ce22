package undo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// PathConflict is a path that undo does not restore, with the reason.
type PathConflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Error returns the path and the reason.
func (c *PathConflict) Error() string { return hiddentext.QuoteUnprintable(c.Path) + " " + c.Reason }

// CanForce reports whether a forced undo restores the path.
func (c *PathConflict) CanForce() bool {
	return slices.ContainsFunc([]string{"has ", appearedThen, objectKept, foreignChange}, func(start string) bool { return strings.HasPrefix(c.Reason, start) })
}

// FormatConflicts returns one line with the number of conflicts and the first few.
func FormatConflicts(all []PathConflict) string {
	const shown = 3
	var first []string
	for _, c := range all[:min(shown, len(all))] {
		first = append(first, c.Error())
	}
	note := "not undone: " + strings.Join(first, "; ")
	if more := len(all) - shown; more > 0 {
		note = fmt.Sprintf("not undone: %d paths: %s; and %d more", len(all), strings.Join(first, "; "), more)
	}
	return note
}

// listPathsAndConflicts returns the paths that undo restores or removes, and the conflicts.
func (p *undoPlan) listPathsAndConflicts() (all []string, conflicts []PathConflict) {
	for _, s := range p.steps {
		switch {
		case s.blocked != "":
			conflicts = append(conflicts, PathConflict{s.path, s.blocked})
		case s.done, s.Before == none && s.After == none && s.now == nil:
		case s.Before == none && s.After != none && !p.Objects[s.After].Created && len(p.homes[s.After]) > 0: // named where it was
		default:
			all = append(all, s.path)
		}
	}
	conflicts = append(conflicts, p.listUnrestoredLinks()...)
	slices.Sort(all)
	for i, c := range conflicts {
		if _, isRestored := slices.BinarySearch(all, c.Path); isRestored {
			conflicts[i].Reason += "; only another change of it was undone"
		}
	}
	slices.SortFunc(conflicts, func(a, b PathConflict) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(all), slices.Compact(conflicts)
}

// listUnrestoredLinks returns conflicts for the other names of files that the operation changed, if undo does not restore
// the change: their steps are blocked, or another program changed the files later.
func (p *undoPlan) listUnrestoredLinks() (conflicts []PathConflict) {
	unrestored, listed := map[FileIdentity]*undoStep{}, map[string]bool{}
	for _, s := range p.steps {
		if s.Before == none {
			continue
		}
		o := p.Objects[s.Before]
		isBlocked := s.blocked != "" && p.findUnblockedStep(p.homes[s.Before]) == nil
		hasLinks := o.Links > 1 || s.now != nil && s.now.Links > 1
		hasChanged := (o.Written || o.Attributed) && (o.After == nil || o.differsAfter())
		isFirst := unrestored[o.ID] == nil || s.Before < unrestored[o.ID].Before
		if isFirst && hasLinks && hasChanged && !o.isDir() && !o.Created && (isBlocked || o.Foreign && o.After == nil) {
			unrestored[o.ID] = s
		}
	}
	delete(unrestored, "")
	if len(unrestored) == 0 {
		return nil
	}
	add := func(path string, of *undoStep) {
		if !listed[path] {
			listed[path] = true
			conflicts = append(conflicts, PathConflict{path, "is a hard link of " + hiddentext.QuoteUnprintable(of.path) + ", which " + cmp.Or(of.blocked, foreignChange)})
		}
	}
	for _, s := range p.steps {
		if s.blocked == "" && s.Before != none {
			if of := unrestored[p.Objects[s.Before].ID]; of != nil && of.Before != s.Before { // its state after the change is restored
				add(s.path, of)
			}
		}
		listed[s.path], listed[s.at] = true, true
	}
	p.dirs.walkTree(p.files.Dir(), func(d *cachedDir, name string, n *fileStat) bool {
		id := n.ID
		for range maxDepth { // an undo may have recreated it
			former, ok := p.former[id]
			if unrestored[id] != nil || !ok {
				break
			}
			id = former
		}
		if of := unrestored[id]; of != nil {
			add(filepath.Join(d.path, name), of)
		}
		return true
	})
	p.dirs.closeAll()
	return conflicts
}
