package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// undoStep is an entry to restore, with the object that its name refers to now.
type undoStep struct {
	*entryChange

	now     *fileStat // file at the name now; nil for none
	done    bool      // the name already has its former object
	blocked string    // conflict reason; empty if undo restores the entry
	path    string    // path before the operation or, for a created file, after it
	at      string    // current path
}

// blockStep notes a reason and reports whether it is the step's first.
func (s *undoStep) blockStep(reason string) (isFirst bool) {
	if isFirst = s.blocked == ""; isFirst {
		s.blocked = reason
	}
	return isFirst
}

// undoPlan decides for each entry of an operation whether undo can restore its former object.
type undoPlan struct {
	*operationRecord

	files    *workspace.Workspace
	force    bool
	maxBytes int64 // that a forced undo can save of files that others changed
	steps    []*undoStep
	homes    map[int][]*undoStep               // steps by the object at the name before the operation
	places   map[int][]*undoStep               // steps by the object at the name after the operation
	inside   map[int][]*undoStep               // steps by directory
	versions map[objectVersion][]objectVersion // earlier equal versions of a version, from later undos
	former   map[FileIdentity]FileIdentity     // former identity of recreated objects, by current identity
	nodes    map[int]*fileStat                 // current state of directories
	left     map[objectVersion]bool            // versions that the operation left
	gone     map[FileIdentity]bool             // objects that a later undo deleted
	resumed  bool                              // an earlier undo of this operation left conflicts, or ran before its end
	foreign  []string                          // directories that another program moved
	closed   []func()                          // restore functions of directories whose mode the plan changed
	dirs     dirCache
}

const (
	changedSince  = "has changed since"
	appearedThen  = "exists again"
	objectKept    = "is kept: the repository has changed since"
	notMovedBack  = "could not be moved back"
	foreignChange = "was changed by others while the operation ran"
	protectedPath = "is protected, and a person has to restore it"
)

func newUndoPlan(r *operationRecord, files *workspace.Workspace, force bool) *undoPlan {
	return &undoPlan{
		operationRecord: r, files: files, force: force, homes: map[int][]*undoStep{}, places: map[int][]*undoStep{}, inside: map[int][]*undoStep{},
		versions: map[objectVersion][]objectVersion{}, former: map[FileIdentity]FileIdentity{}, nodes: map[int]*fileStat{}, gone: map[FileIdentity]bool{}, dirs: newDirCache(files),
	}
}

// addLaterUndo adds the objects that a later undo recreated or deleted.
func (p *undoPlan) addLaterUndo(undo *operationRecord, id string) {
	for _, r := range undo.Restored {
		p.versions[r.Now] = append(p.versions[r.Now], r.Was)
		if r.Now.ID != r.Was.ID {
			p.former[r.Now.ID] = r.Was.ID
		}
	}
	for _, o := range undo.Objects {
		p.gone[o.ID] = p.gone[o.ID] || o.After == nil
	}
	p.resumed = p.resumed || undo.Undoes == id && (undo.Partly || undo.Early)
}

// noteRestoredDirs notes which moved directories are back at their former paths.
func (p *undoPlan) noteRestoredDirs() {
	for _, o := range p.Objects {
		if !o.isDir() || o.Before == "" || o.Before == o.Now || o.Created {
			continue
		}
		if d := p.dirs.openDir(string(o.Before)); d != nil {
			if n, err := statOpenFile(d.file); err == nil && p.isSameObject(n.ID, o.ID) {
				o.Now = o.Before
			}
		}
	}
}

// isAlreadyUndone reports whether a name already has its former object.
func (p *undoPlan) isAlreadyUndone(s *undoStep) bool {
	switch {
	case s.Before == none:
		return s.now == nil && (s.After == none || p.Objects[s.After].Created)
	case s.now == nil:
		return false
	}
	o := p.Objects[s.Before]
	if o.isDir() {
		return s.Before != s.After && s.now.Mode.IsDir() && p.isSameObject(s.now.ID, o.ID)
	}
	return p.matchesVersion(objectVersion{s.now.ID, s.now.Changed}, func(v objectVersion) bool { return v == objectVersion{o.ID, o.Changed} })
}

// makeSteps compares every entry with the workspace and blocks steps that can't be undone. check returns an error for
// paths that must not change.
func (p *undoPlan) makeSteps(check func(path string) error) {
	if p.resumed {
		p.noteRestoredDirs()
	}
	for _, e := range p.Entries {
		if e.Before != none && p.Objects[e.Before].isUnrestorable() && p.Objects[e.Before].After == nil {
			lost, rest := *e, *e
			lost.After, rest.Before = none, none
			p.addStep(&lost).blockStep("was a device or a socket, which undo does not create")
			if e = &rest; e.After == none {
				continue
			}
		}
		p.addStep(e)
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
		p.blockIfChanged(s)
	}
	p.dropLaterStates()
	for _, s := range p.steps {
		err := check(s.path)
		if err == nil && s.at != s.path {
			err = check(s.at)
		}
		if err == nil && s.blocked == "" && !s.done {
			err = p.checkMutable(s)
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
	for index, homes := range p.homes { // a directory that others moved is restored where they moved it
		for _, s := range homes {
			if o := p.Objects[index]; len(homes) > 1 && o.isDir() && s.Dir == o.Parent && s.Name == o.Name {
				s.blockStep("was moved by others while the operation ran")
			}
		}
	}
	p.keepGitObjects()
	if p.force {
		p.blockUnsavable()
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
	p.restoreDirModes()
	p.dirs.closeAll()
}

// addStep adds a step for an entry.
func (p *undoPlan) addStep(e *entryChange) *undoStep {
	s := &undoStep{entryChange: e}
	s.path, s.at = p.entryPath(e, (*operationRecord).beforeDirPath), p.entryPath(e, (*operationRecord).afterDirPath)
	if e.Before == none {
		s.path = s.at
	}
	p.steps = append(p.steps, s)
	return s
}

// blockIfChanged stats the name of a step and blocks the step if the name changed after the operation.
func (p *undoPlan) blockIfChanged(s *undoStep) {
	if s.blocked != "" {
		return
	}
	if p.isInForeignDir(filepath.Dir(s.at)) {
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
		s.now, _ = statOpenFile(d.file)
	case s.Dir == none:
		s.now = statSingleFile(p.files, string(s.Name))
		open = func() (*os.File, error) { return openSingleFile(p.files, string(s.Name)) }
	case p.Objects[s.Dir].Now == "": // the operation deleted the directory
		p.blockForeign(s)
		return
	default:
		d := p.openDir(s.Dir)
		if d == nil && s.Before == none && (s.After == none || p.Objects[s.After].Created) && p.gone[p.Objects[s.Dir].ID] {
			s.done = true
			return
		}
		if d == nil {
			s.blockStep("is in a directory that was moved or replaced since")
			return
		}
		var err error
		if s.now, err = d.statName(string(s.Name)); err != nil {
			s.blockStep("can't be looked at: " + stripErrorPath(err).Error())
			return
		}
		open = func() (*os.File, error) { return d.openChild(string(s.Name)) }
	}
	if p.resumed && p.isAlreadyUndone(s) {
		s.done = true
		return
	}
	switch {
	case s.Foreign:
		p.blockForeign(s)
	case s.now == nil && (s.After == none || s.Before == none && p.Objects[s.After].Created): // nothing is to be taken away
	case s.After == none && !p.force:
		s.blockStep(appearedThen)
	case s.After != none && !p.force && !p.isUnchangedSince(s.now, p.Objects[s.After], open):
		s.blockStep(changedSince)
	case s.After != none && (s.now == nil || (s.Before != none || !p.Objects[s.After].Created) && !p.isSameObject(s.now.ID, p.Objects[s.After].ID)): // by force
		if s.now != nil && s.Before == none { // it has nothing to give way to
			s.blockStep(changedSince)
		}
		other := *s.entryChange
		other.After = none
		s.entryChange = &other
	}
}

// blockForeign blocks the step of a name that others changed while the operation ran. By force, undo restores an object
// that it can recreate. A second undo also does so if the object that others left there is gone, and no step restores
// theirs.
func (p *undoPlan) blockForeign(s *undoStep) {
	if !s.Foreign {
		return
	}
	isWanted := p.force || p.resumed && s.now == nil && s.After != none && !slices.ContainsFunc(p.steps, func(later *undoStep) bool {
		if later.Foreign || later.Dir != s.Dir || later.Name != s.Name {
			return false
		}
		p.blockIfChanged(later)
		return later.blocked == ""
	})
	other := *s.entryChange
	other.After = none
	switch s.entryChange = &other; {
	case s.Before == none || !p.Objects[s.Before].canBeRecreated():
		s.blockStep("can't be restored: others changed it while the operation ran")
	case !isWanted:
		s.blockStep(foreignChange)
	}
}

// canBeRecreated reports whether undo can recreate an object without its present state.
func (o *fileObject) canBeRecreated() bool {
	return o.Content != 0 || o.isDir() && o.Now == "" || !o.isDir() && !o.isRegular() && !o.isUnrestorable()
}

// dropLaterStates drops the other steps of a name of which undo restores the state before others changed it.
func (p *undoPlan) dropLaterStates() {
	first := map[nameInDir]*undoStep{}
	for _, s := range p.steps {
		if at := (nameInDir{s.Dir, string(s.Name)}); s.Foreign && s.blocked == "" && first[at] == nil {
			first[at] = s
		}
	}
	p.steps = slices.DeleteFunc(p.steps, func(s *undoStep) bool {
		former := first[nameInDir{s.Dir, string(s.Name)}]
		if former == nil || former == s {
			return false
		}
		if s.blockStep(foreignChange); s.Before != none { // its object can't be moved back
			p.homes[s.Before] = append(p.homes[s.Before], s)
		}
		return true
	})
}

// isInForeignDir reports whether a path is in a directory that another program moved.
func (p *undoPlan) isInForeignDir(path string) bool { return paths.WithinAny(p.foreign, path) }

// openDir opens a directory at its path after the operation. It returns nil if another directory has that path now.
func (p *undoPlan) openDir(index int) *cachedDir {
	o := p.Objects[index]
	d := p.dirs.openDir(string(o.Now))
	if d != nil && d.object == o {
		return d
	}
	if d == nil || d.isInaccessible() {
		var restore func()
		if d, p.nodes[index], restore = p.dirs.openInaccessible(string(o.Now)); d == nil {
			return nil
		}
		p.closed = append(p.closed, restore)
	}
	n, err := statOpenFile(d.file)
	if err != nil || !p.isSameObject(n.ID, o.ID) {
		return nil
	}
	if d.object = o; p.nodes[index] == nil {
		p.nodes[index] = n
	}
	return d
}

func (p *undoPlan) restoreDirModes() {
	for _, restore := range slices.Backward(p.closed) {
		restore()
	}
}

// isSameObject reports whether id is meant, or the identity of an object that an undo recreated in place of meant.
func (p *undoPlan) isSameObject(id, meant FileIdentity) bool {
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

// isUnchangedSince reports whether a file is still in the state in which the operation left the object.
func (p *undoPlan) isUnchangedSince(n *fileStat, o *fileObject, open func() (*os.File, error)) bool {
	if n == nil || o.Foreign || o.After == nil {
		return false
	}
	if o.isDir() || n.Mode.IsDir() {
		return o.isDir() && n.Mode.IsDir() && p.isSameObject(n.ID, o.ID)
	}
	if n.ID == o.ID && n.Changed == o.After.Changed {
		return n.Size == o.After.Size && (o.After.Hash == "" || open == nil || hashFile(open) == o.After.Hash)
	}
	return p.matchesVersion(objectVersion{n.ID, n.Changed}, func(v objectVersion) bool { return v == objectVersion{o.ID, o.After.Changed} })
}

// matchesVersion reports whether the function is returns true for a version or an equal earlier version. An undo that
// restores contents creates such a pair of versions.
func (p *undoPlan) matchesVersion(v objectVersion, is func(objectVersion) bool) bool {
	seen := map[objectVersion]bool{}
	for queue := []objectVersion{v}; len(queue) > 0; queue = queue[1:] {
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

func hashFile(open func() (*os.File, error)) string {
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

// checkFileSizes returns an error if a file to restore exceeds the policy's file size limit.
func (p *undoPlan) checkFileSizes() error {
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
