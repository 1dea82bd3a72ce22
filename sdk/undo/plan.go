package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Conflict is a path that undo leaves as it is, and why.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Error returns the path and the reason.
func (c *Conflict) Error() string { return hiddentext.QuoteName(c.Path) + " " + c.Reason }

// ConflictNote returns a line about conflicts: their number and the first few.
func ConflictNote(all []Conflict) string {
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

// step is an entry with what is there now.
type step struct {
	*entry

	now     *node  // what has the name now; nil for nothing
	done    bool   // the name has its former object
	blocked string // why the entry is left alone; empty if it is not
	path    string // before the operation, or where it put something
	at      string // path now
}

func (s *step) blockStep(reason string) bool {
	if s.blocked != "" {
		return false
	}
	s.blocked = reason
	return true
}

// plan decides for each entry of an operation whether it can have its former object back.
type plan struct {
	*record

	files    *workspace.Workspace
	force    bool
	steps    []*step
	homes    map[int][]*step       // by the object that had the name before
	places   map[int][]*step       // by the object that has it after
	inside   map[int][]*step       // by the directory
	versions map[version][]version // that a version stands for, by what was undone since
	former   map[Identity]Identity // of objects that an undo put back, by their present identity
	nodes    map[int]*node         // of directories, as they are now
	left     map[version]bool      // objects as the operation left them
	gone     map[Identity]bool     // objects that an undo deleted
	resumed  bool                  // an undo left conflicts
	foreign  []string              // directories that somebody else moved
	closed   []func()              // closes directories again that were opened to their owner
	dirs     dirCache
}

const (
	changedSince = "has changed since"
	appearedThen = "is there again"
)

func newPlan(r *record, files *workspace.Workspace, force bool) *plan {
	return &plan{
		record: r, files: files, force: force, homes: map[int][]*step{}, places: map[int][]*step{}, inside: map[int][]*step{},
		versions: map[version][]version{}, former: map[Identity]Identity{}, nodes: map[int]*node{}, gone: map[Identity]bool{}, dirs: newDirCache(files),
	}
}

// learnRestored takes in which objects a later undo has put back.
func (p *plan) learnRestored(undo *record, id string) {
	for _, r := range undo.Restored {
		p.versions[r.Now] = append(p.versions[r.Now], r.Was)
		if r.Now.ID != r.Was.ID {
			p.former[r.Now.ID] = r.Was.ID
		}
	}
	for _, o := range undo.Objects {
		p.gone[o.ID] = p.gone[o.ID] || o.After == nil
	}
	p.resumed = p.resumed || undo.Undoes == id && undo.Partly
}

// findDirs notes which directories have their former paths again.
func (p *plan) findDirs() {
	for _, o := range p.Objects {
		if !o.isDir() || o.Before == "" || o.Before == o.Now || o.Created {
			continue
		}
		if d := p.dirs.openDir(string(o.Before)); d != nil {
			if n, err := statFile(d.file); err == nil && p.isSame(n.ID, o.ID) {
				o.Now = o.Before
			}
		}
	}
}

// isDone reports whether a name has its former object.
func (p *plan) isDone(s *step) bool {
	switch {
	case s.Before == none:
		return s.now == nil && p.Objects[s.After].Created
	case s.now == nil:
		return false
	}
	o := p.Objects[s.Before]
	if o.isDir() {
		return s.Before != s.After && s.now.Mode.IsDir() && p.isSame(s.now.ID, o.ID)
	}
	return p.standsFor(version{s.now.ID, s.now.Changed}, func(v version) bool { return v == version{o.ID, o.Changed} })
}

// makeSteps compares every entry with the workspace, and blocks those that can't be undone.
func (p *plan) makeSteps(check func(path string) error) {
	if p.resumed {
		p.findDirs()
	}
	for _, e := range p.Entries {
		if e.Before != none && p.Objects[e.Before].isUnmakeable() && p.Objects[e.Before].After == nil { // named as lost
			if e.After == none {
				continue
			}
			lost := *e
			lost.Before = none
			e = &lost
		}
		s := &step{entry: e}
		s.path, s.at = p.entryPath(e, (*record).beforePath), p.entryPath(e, (*record).nowPath)
		if e.Before == none {
			s.path = s.at
		}
		p.steps = append(p.steps, s)
	}
	for _, o := range p.Objects {
		if !o.isDir() || o.Now == "" {
			continue
		}
		if o.Foreign {
			p.foreign = append(p.foreign, string(o.Now))
		}
		if !o.Created {
			p.openDir(o.index)
		}
	}
	for _, s := range p.steps {
		p.compareStep(s)
		err := check(s.path)
		if err == nil && s.at != s.path {
			err = check(s.at)
		}
		if err != nil {
			s.blockStep(err.Error())
		}
		p.inside[s.Dir] = append(p.inside[s.Dir], s)
		if s.Before != none {
			p.homes[s.Before] = append(p.homes[s.Before], s)
		}
		if s.After != none {
			p.places[s.After] = append(p.places[s.After], s)
		}
	}
	for again := true; again; {
		again = false
		for _, s := range p.steps {
			if s.blocked == "" && !s.done {
				if why := p.findObstacle(s); why != "" {
					again = s.blockStep(why) || again
				}
			}
		}
	}
	p.closeAgain()
	p.dirs.closeAll()
}

// compareStep blocks a step whose name is not as the operation left it.
func (p *plan) compareStep(s *step) {
	if s.Foreign {
		s.blockStep("was changed by others while the operation ran")
		return
	}
	if p.isInMoved(filepath.Dir(s.at)) {
		s.blockStep("is in a directory that others moved while the operation ran")
		return
	}
	var open func() (*os.File, error)
	switch {
	case s.Dir == none && s.Before != none && p.Objects[s.Before].isDir():
		d := p.dirs.openDir(string(s.Name))
		if d == nil {
			s.blockStep("can't be opened")
			return
		}
		s.now, _ = statFile(d.file)
	case s.Dir == none:
		s.now = statClosed(p.files, string(s.Name))
		open = func() (*os.File, error) { return openClosed(p.files, string(s.Name)) }
	case p.Objects[s.Dir].Now == "": // the operation deleted the directory
		return
	default:
		d := p.openDir(s.Dir)
		if d == nil && s.Before == none && p.Objects[s.After].Created && p.gone[p.Objects[s.Dir].ID] {
			s.done = true
			return
		}
		if d == nil {
			s.blockStep("is in a directory that was moved or replaced since")
			return
		}
		var err error
		if s.now, err = d.statName(string(s.Name)); err != nil {
			s.blockStep("can't be looked at: " + errorReason(err).Error())
			return
		}
		open = func() (*os.File, error) { return d.openName(string(s.Name)) }
	}
	if p.resumed && p.isDone(s) {
		s.done = true
		return
	}
	switch {
	case s.now == nil && (s.After == none || s.Before == none && p.Objects[s.After].Created): // nothing is to be taken away
	case s.After == none && !p.force:
		s.blockStep(appearedThen)
	case s.After != none && !p.force && !p.isAsLeft(s.now, p.Objects[s.After], open):
		s.blockStep(changedSince)
	case s.After != none && (s.now == nil || s.Before != none && !p.isSame(s.now.ID, p.Objects[s.After].ID)): // by force
		other := *s.entry
		other.After = none
		s.entry = &other
	}
}

// isInMoved reports whether a path is that of a directory that somebody else moved, or below one.
func (p *plan) isInMoved(path string) bool { return paths.WithinAny(p.foreign, path) }

// openDir opens a directory where the operation left it, if it is still that one.
func (p *plan) openDir(index int) *openDir {
	o := p.Objects[index]
	d := p.dirs.openDir(string(o.Now))
	if d != nil && d.object == o {
		return d
	}
	if d == nil || d.isClosed() {
		var restore func()
		if d, p.nodes[index], restore = p.dirs.openAnyway(string(o.Now)); d == nil {
			return nil
		}
		p.closed = append(p.closed, restore)
	}
	n, err := statFile(d.file)
	if err != nil || !p.isSame(n.ID, o.ID) {
		return nil
	}
	if d.object = o; p.nodes[index] == nil {
		p.nodes[index] = n
	}
	return d
}

// closeAgain gives the directories their modes back that were opened to their owner for the plan.
func (p *plan) closeAgain() {
	for _, restore := range slices.Backward(p.closed) {
		restore()
	}
}

// isSame reports whether an identity is that of an object, or of what an undo put back for it.
func (p *plan) isSame(id, meant Identity) bool {
	for range maxDepth {
		if id == meant {
			return true
		}
		former, ok := p.former[id]
		if !ok {
			return false
		}
		id = former
	}
	return false
}

// isAsLeft reports whether what is there now is an object in the state in which the operation left it.
func (p *plan) isAsLeft(n *node, o *object, open func() (*os.File, error)) bool {
	if n == nil || o.Foreign || o.After == nil {
		return false
	}
	if o.isDir() || n.Mode.IsDir() {
		return o.isDir() && n.Mode.IsDir() && p.isSame(n.ID, o.ID)
	}
	if n.ID == o.ID && n.Changed == o.After.Changed {
		return n.Size == o.After.Size && (o.After.Hash == "" || open == nil || hashOf(open) == o.After.Hash)
	}
	return p.standsFor(version{n.ID, n.Changed}, func(v version) bool { return v == version{o.ID, o.After.Changed} })
}

// standsFor follows a version back through what was undone since, until one is what is looked for.
func (p *plan) standsFor(v version, is func(version) bool) bool {
	seen := map[version]bool{}
	for queue := []version{v}; len(queue) > 0; queue = queue[1:] {
		if is(queue[0]) {
			return true
		}
		if !seen[queue[0]] {
			seen[queue[0]] = true
			queue = append(queue, p.versions[queue[0]]...)
		}
	}
	return false
}

func hashOf(open func() (*os.File, error)) string {
	f, err := open()
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// listPaths lists what is put back or taken away, and the conflicts.
func (p *plan) listPaths() (all []string, conflicts []Conflict) {
	for _, s := range p.steps {
		switch {
		case s.blocked != "":
			conflicts = append(conflicts, Conflict{s.path, s.blocked})
		case s.done:
		case s.Before == none && s.After != none && !p.Objects[s.After].Created && len(p.homes[s.After]) > 0: // named where it was
		default:
			all = append(all, s.path)
		}
	}
	slices.Sort(all)
	slices.SortFunc(conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(all), slices.Compact(conflicts)
}

// tooLarge returns the error of a file that the policy has no room for.
func (p *plan) tooLarge() error {
	limit := p.files.MaxFileSize()
	for _, s := range p.steps {
		if s.blocked == "" && s.Before != none && limit > 0 {
			if o := p.Objects[s.Before]; o.isRegular() && o.Content != 0 && o.Size > limit {
				return fmt.Errorf("%s has %d bytes, more than the %d that the policy allows", s.path, o.Size, limit)
			}
		}
	}
	return nil
}

var errNotKept = errors.New("its contents are not in the archive")
