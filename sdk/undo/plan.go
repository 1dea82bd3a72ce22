package undo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Conflict is a path that undo leaves as it is, and why.
type Conflict struct {
	Path   string
	Reason string
}

// Error returns the path and the reason.
func (c *Conflict) Error() string { return c.Path + " " + c.Reason }

// step is an entry with what is there now.
type step struct {
	*entry

	now     *node  // what has the name now; nil for nothing
	blocked string // why the entry is left alone; empty if it is not
	path    string // before the operation, or where it put something
	at      string // path now
}

func (s *step) block(reason string) bool {
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
	homes    map[int][]*step // by the object that had the name before
	places   map[int][]*step // by the object that has it after
	inside   map[int][]*step // by the directory
	versions map[version]version
	former   map[Identity]Identity // of objects that an undo put back, by their present identity
	nodes    map[int]*node         // of directories, as they are now
	left     map[version]bool      // objects as the operation left them
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
		versions: map[version]version{}, former: map[Identity]Identity{}, nodes: map[int]*node{}, dirs: newDirCache(files),
	}
}

// learn takes in which objects a later undo has put back.
func (p *plan) learn(all []restored) {
	for _, r := range all {
		p.versions[r.Now] = r.Was
		if r.Now.ID != r.Was.ID {
			p.former[r.Now.ID] = r.Was.ID
		}
	}
}

// make looks at every entry.
func (p *plan) make(check func(path string) error) {
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
		s.path, s.at = p.path(e, (*record).beforePath), p.path(e, (*record).nowPath)
		if e.Before == none {
			s.path = s.at
		}
		p.steps = append(p.steps, s)
		p.inside[e.Dir] = append(p.inside[e.Dir], s)
		if e.Before != none {
			p.homes[e.Before] = append(p.homes[e.Before], s)
		}
		if e.After != none {
			p.places[e.After] = append(p.places[e.After], s)
		}
	}
	for _, o := range p.Objects {
		if o.isDir() && o.Foreign && o.Now != "" {
			p.foreign = append(p.foreign, string(o.Now))
		}
	}
	for _, s := range p.steps {
		p.compare(s)
		err := check(s.path)
		if err == nil && s.at != s.path {
			err = check(s.at)
		}
		if err != nil {
			s.block(err.Error())
		}
	}
	for again := true; again; {
		again = false
		for _, s := range p.steps {
			if s.blocked == "" {
				if why := p.obstacle(s); why != "" {
					again = s.block(why) || again
				}
			}
		}
	}
	p.closeAgain()
	p.dirs.clear()
}

// compare finds out whether a name is as the operation left it.
func (p *plan) compare(s *step) {
	if s.Foreign || s.Edited && !p.keepsForeign(s) {
		s.block("was changed by somebody else while the operation ran")
		return
	}
	for _, dir := range p.foreign {
		if paths.Within(dir, s.at) && dir != s.at {
			s.block("is in a directory that somebody else moved while the operation ran")
			return
		}
	}
	var open func() (*os.File, error)
	switch {
	case s.Dir == none && s.Before != none && p.Objects[s.Before].isDir():
		d := p.dirs.open(string(s.Name))
		if d == nil {
			s.block("can't be opened")
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
		if d == nil {
			s.block("is in a directory that was moved or replaced since")
			return
		}
		var err error
		if s.now, err = d.stat(string(s.Name)); err != nil {
			s.block("can't be looked at: " + reason(err).Error())
			return
		}
		open = func() (*os.File, error) { return d.open(string(s.Name)) }
	}
	switch {
	case s.now == nil && (s.After == none || s.Before == none && p.Objects[s.After].Created): // nothing is to be taken away
	case s.After == none && !p.force:
		s.block(appearedThen)
	case s.After != none && !p.force && !p.isAsLeft(s.now, p.Objects[s.After], open):
		s.block(changedSince)
	}
}

// keepsForeign reports whether what somebody else made of a file is what is kept of it: the operation deleted it later.
func (p *plan) keepsForeign(s *step) bool {
	return s.Before != none && s.After == none && p.isLostForeign(s.Before) && p.Objects[s.Before].Content != 0
}

// isLostForeign reports whether a file was changed by somebody else, and deleted by the operation.
func (p *plan) isLostForeign(index int) bool {
	return p.Objects[index].Foreign && len(p.places[index]) == 0
}

// openDir opens a directory where the operation left it, if it is still that one.
func (p *plan) openDir(index int) *openDir {
	o := p.Objects[index]
	d := p.dirs.open(string(o.Now))
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
	return p.becomes(version{n.ID, n.Changed}, func(v version) bool { return v == version{o.ID, o.After.Changed} })
}

// becomes follows a version back through what was undone since, until one is what is looked for.
func (p *plan) becomes(v version, is func(version) bool) bool {
	for range maxDepth {
		if is(v) {
			return true
		}
		was, ok := p.versions[v]
		if !ok {
			return false
		}
		v = was
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

// obstacle says why an entry that is as it was left can't have its former object back; empty if it can.
func (p *plan) obstacle(s *step) string {
	if s.Before == s.After {
		if s.Before != none && p.Objects[s.Before].isDir() {
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
		if p.Objects[s.Before].Prefix && (s.After == none || !p.isAsLeft(s.now, p.Objects[s.After], nil)) {
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

// missing says why the object that had a name can't be had back.
func (p *plan) missing(s *step) string {
	o := p.Objects[s.Before]
	if places := p.places[s.Before]; len(places) > 0 { // it exists
		if p.free(places) == nil {
			return "can't be moved back from " + places[0].at + ", which has changed since"
		}
		return p.missingContents(s.Before)
	}
	if o.isRegular() && o.Content == 0 && !o.Prefix {
		return "was not kept"
	}
	if p.isLostForeign(s.Before) && !s.Edited && !p.force {
		return "was changed by somebody else while the operation ran"
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
	p.dirs.walk(s.at, func(d *openDir, name string, n *node) bool {
		if p.becomes(version{n.ID, n.Changed}, func(v version) bool { return v.Changed <= since || p.isLeft(v) }) {
			return true
		}
		why = "has " + relative(s.at, filepath.Join(d.path, name)) + " in it, which has changed since"
		return false
	})
	if why == "" {
		for _, in := range p.steps {
			if in.blocked != "" && in.Dir != none && p.Objects[in.Dir].Now != "" && strings.HasPrefix(in.at, s.at+"/") {
				return "has " + relative(s.at, in.at) + " in it, which stays"
			}
		}
	}
	return why
}

// isLeft reports whether an object is in the state in which the operation left it.
func (p *plan) isLeft(v version) bool {
	if p.left == nil {
		p.left = map[version]bool{}
		for _, o := range p.Objects {
			if o.After != nil && !o.Foreign {
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
		if in.After == none {
			continue
		}
		if in.blocked != "" {
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

// paths lists what is put back or taken away, and the conflicts.
func (p *plan) paths() (all []string, conflicts []Conflict) {
	for _, s := range p.steps {
		switch {
		case s.blocked != "":
			conflicts = append(conflicts, Conflict{s.path, s.blocked})
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
