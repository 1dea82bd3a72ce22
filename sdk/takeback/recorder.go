package takeback

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Recorder keeps what an operation is about to change, at the first change to each path. It can be used concurrently.
//
// Who changes files tells it of each change by [Recorder.Notice] before it is made. It opens files through the
// workspace only, so what the policy does not open is neither read nor kept.
type Recorder struct {
	store *Store
	files *workspace.Workspace
	op    Op

	mu      sync.Mutex
	ledger  ledger
	before  map[string]*Entry // what was there, by its path before the operation
	order   []*Entry          // all entries, as they came
	links   map[fileID]string // files of which another name was made, or that have several, by one path of theirs
	renamed map[fileID]string // what was renamed, by where it was before: several may be at it at once
	pending map[int]rename    // what threads have asked for and may have failed
	dirs    dirs
	out     *archiveWriter // nil before the first entry
	broken  error          // why nothing is kept any more
	over    bool
}

// rename is one that was about to be made.
type rename struct {
	from, to string
	held     holding
}

// mostEntries is how many paths of one operation are kept.
const mostEntries = 200_000

// mostLost is how many of the things that can't be brought back are named.
const mostLost = 20

// Record begins an operation. It takes no room in the store before something changes. End it with [Recorder.End].
func (j *Store) Record(tool, summary string, files *workspace.Workspace) *Recorder {
	return &Recorder{
		store: j, files: files, op: Op{Tool: tool, Summary: summary, Recorded: true}, ledger: newLedger(),
		before: map[string]*Entry{}, links: map[fileID]string{}, renamed: map[fileID]string{},
		pending: map[int]rename{},
		dirs:    dirs{files: files},
	}
}

// Notice keeps what a change is about to destroy. It never refuses one: what can't be kept is named by [Recorder.End].
func (r *Recorder) Notice(m mutation.Mutation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.settlePending(m)
	switch m.Kind {
	case mutation.Unseen:
		r.lose(fmt.Sprintf("changes that could not be noticed: %v", m.Err))
	case mutation.Write, mutation.Make, mutation.Attribute:
		r.touch(m.Path, m.Kind)
	case mutation.Remove:
		r.touch(m.Path, m.Kind)
		r.forgetMoved(m.Path)
	case mutation.Rename:
		r.rename(m)
	case mutation.Exchange:
		r.exchange(m)
	case mutation.Link:
		r.link(m)
	}
	return nil
}

// touch keeps what is at a path, unless it was made by the operation: with its contents, or, where only its attributes
// change, without.
func (r *Recorder) touch(path string, kind mutation.Kind) {
	contents := kind != mutation.Attribute
	was, made := r.ledger.origin(path)
	if made && len(r.links)+len(r.renamed) == 0 {
		return
	}
	dir, name := r.dirs.open(path)
	info := lstat(dir, name)
	if was, made = r.origin(path, info); made {
		r.touchLinked(dir, name, info)
		return
	}
	known := r.before[was]
	if known != nil && !contents {
		known.given = true
		return
	}
	if dir == nil { // no place of the policy's, or the workspace itself
		if !contents {
			r.touchDir(path)
			if e := r.before[was]; e != nil {
				e.given = true
			}
		}
		return
	}
	if info != nil || kind != mutation.Remove {
		r.touchDir(filepath.Dir(path))
	}
	if info != nil && info.IsDir() && kind == mutation.Remove {
		defer r.dirs.forget()
	}
	switch {
	case info != nil && known != nil && (known.Kind != File || known.Kept):
	case info != nil:
		r.keep(was, dir, name, info, contents)
		if e := r.before[was]; e != nil && !contents {
			e.given = true
		}
	case contents && kind != mutation.Remove:
		r.write(&Entry{Kind: Made, Path: path}, nil)
		r.ledger.take(path)
		r.ledger.made[path] = fileID{}
	}
}

// origin returns the path that what is at a path had before the operation; made reports that it had none.
func (r *Recorder) origin(path string, info fs.FileInfo) (was string, made bool) {
	if info != nil && len(r.renamed) > 0 {
		id, _ := identity(info)
		if was, ok := r.renamed[id]; ok {
			return was, false
		}
	}
	return r.ledger.origin(path)
}

// forgetMoved has what is deleted be no longer what was moved there: what comes to its name is made.
func (r *Recorder) forgetMoved(path string) {
	m, ok := r.ledger.moved[path]
	if !ok {
		return
	}
	if dir, name := r.dirs.open(path); r.kept(m.from) || r.before[m.from] != nil && empty(dir, name) {
		delete(r.ledger.moved, path)
		delete(r.renamed, m.id)
		r.ledger.made[path] = m.id
	}
}

// touchDir keeps what a directory is: its time changes with what is in it.
func (r *Recorder) touchDir(path string) {
	was, made := r.ledger.origin(path)
	if made || r.before[was] != nil {
		return
	}
	if dir, _ := r.dirs.open(filepath.Join(path, "x")); dir != nil {
		if info := lstat(dir, "."); info != nil {
			r.keep(was, dir, ".", info, false)
		}
	}
}

// touchLinked keeps a file that was there before and is changed under a name that was made.
func (r *Recorder) touchLinked(dir *os.Root, name string, info fs.FileInfo) {
	if info == nil {
		return
	}
	id, _ := identity(info)
	if was, ok := r.links[id]; ok && (r.before[was] == nil || !r.before[was].Kept) {
		r.keep(was, dir, name, info, true)
	}
}

// keep writes what is at a name into the store.
func (r *Recorder) keep(was string, dir *os.Root, name string, info fs.FileInfo, contents bool) {
	e := describe(was, info)
	first := r.before[was]
	if first != nil { // its contents come later than what else it was
		first.Kept, first.Size = true, e.Size
		e = first
	} else {
		e.state = stateOf(info)
	}
	var file *os.File
	var err error
	switch e.Kind {
	case "":
		r.lose(was + " (a socket or a device)")
		return
	case Sym:
		e.Link, err = dir.Readlink(name)
	case Dir:
		file, err = dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	case File:
		id, _ := identity(info)
		if other := r.before[r.links[id]]; other != nil && other != first { // what it was is known by another name
			e.Mode, e.UID, e.GID, e.Modified, e.Attributes = other.Mode, other.UID, other.GID, other.Modified, other.Attributes
			if e.Inode = id.inode; other.Kept && contents {
				e.Same, e.Kept = other.file(), true
				break
			}
		}
		if _, several := workspace.SeveralNames(info); several || e.Inode != 0 {
			r.links[id], e.Inode = was, id.inode
		}
		if contents {
			e.Kept = true
		}
		file, err = dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil && contents && e.Size > r.left() {
			err = fmt.Errorf("%s, more than is kept of one operation", size(e.Size))
		}
	}
	if file != nil {
		defer func() { _ = file.Close() }()
		if first == nil && e.Attributes == nil {
			e.Attributes, _ = workspace.Attributes(file) // without them the rest is worth keeping
		}
	}
	if err != nil && (contents || e.Kind == Sym) {
		e.Kept = false
		r.lose(fmt.Sprintf("%s (%v)", was, reason(err)))
		r.before[was] = e // and is not asked for again
		return
	}
	if first == nil {
		r.before[was] = e
		r.order = append(r.order, e)
	}
	r.write(e, file)
}

// write writes an entry into the archive, which is made with the first.
func (r *Recorder) write(e *Entry, contents io.Reader) {
	if r.broken != nil {
		return
	}
	if len(r.order) > mostEntries {
		r.broken = fmt.Errorf("it changed more than %d paths", mostEntries)
		return
	}
	if r.out == nil {
		if r.out, r.broken = r.store.begin(&r.op); r.broken != nil {
			return
		}
	}
	if e.Kind != File || !e.Kept || e.Same != "" {
		contents = nil
	}
	at, err := r.out.member(e.header(r.op.ID), contents)
	e.At = at
	if err != nil {
		r.broken = err
	}
}

// left is how many bytes may still be kept.
func (r *Recorder) left() int64 {
	if r.out == nil {
		return r.store.MaxOperation()
	}
	return r.store.MaxOperation() - r.out.written
}

// lose notes what undo can't bring back.
func (r *Recorder) lose(what string) {
	switch {
	case len(r.op.Lost) < mostLost:
		r.op.Lost = append(r.op.Lost, what)
	case len(r.op.Lost) == mostLost:
		r.op.Lost = append(r.op.Lost, "and more")
	}
}

// kept reports whether all of what was at a path before is kept, so that it is of no matter what becomes of it.
func (r *Recorder) kept(was string) bool {
	e := r.before[was]
	return e != nil && e.Kind != Dir && (e.Kind != File || e.Kept)
}

// rename follows what gets another name, and keeps what had it.
func (r *Recorder) rename(m mutation.Mutation) {
	dir, name := r.dirs.open(m.Path)
	from := lstat(dir, name)
	if paths.Within(m.Path, m.To) {
		return // it will fail, or change nothing
	}
	toDir, toName := r.dirs.open(m.To)
	if from == nil && dir != nil {
		return // it will fail
	}
	if from == nil { // from a place that is not the policy's
		r.touch(m.To, mutation.Make)
		return
	}
	if toDir == nil { // out of it
		if r.touch(m.Path, mutation.Remove); from.IsDir() && sameDevice(m.To, from) {
			r.lose(m.Path + " (a directory that was moved out of the workspace)")
		}
		return
	}
	id, _ := identity(from)
	if to := lstat(toDir, toName); to != nil {
		other, _ := identity(to)
		if other == id || other.device != id.device || to.IsDir() != from.IsDir() || to.IsDir() && !empty(toDir, toName) {
			return // it will fail, or change nothing
		}
		r.touch(m.To, mutation.Make)
		r.holding(m.To, to)
	}
	r.touchDir(filepath.Dir(m.Path))
	r.touchDir(filepath.Dir(m.To))
	if from.IsDir() {
		r.dirs.forget()
	}
	h := r.holding(m.Path, from)
	r.ledger.rename(m.Path, m.To, h, from.IsDir())
	r.pending[m.Thread] = rename{m.Path, m.To, h}
	r.noteMoved(m.To)
}

// holding is what is at a path, which is to be renamed.
func (r *Recorder) holding(path string, info fs.FileInfo) holding {
	was, made := r.origin(path, info)
	id, _ := identity(info)
	if _, several := workspace.SeveralNames(info); !made && !several {
		r.renamed[id] = was
	}
	return holding{made: made || r.kept(was), from: was, id: id}
}

// noteMoved writes down where something is now.
func (r *Recorder) noteMoved(path string) {
	if m, ok := r.ledger.moved[path]; ok {
		r.write(&Entry{Kind: Moved, Path: m.from, Now: path}, nil)
	} else if _, ok := r.ledger.made[path]; ok {
		r.write(&Entry{Kind: Made, Path: path}, nil)
	}
}

func (r *Recorder) exchange(m mutation.Mutation) {
	dirA, nameA := r.dirs.open(m.Path)
	dirB, nameB := r.dirs.open(m.To)
	a, b := lstat(dirA, nameA), lstat(dirB, nameB)
	if a == nil || b == nil {
		return
	}
	r.touchDir(filepath.Dir(m.Path))
	r.touchDir(filepath.Dir(m.To))
	r.dirs.forget()
	r.ledger.exchange(m.Path, m.To, r.holding(m.Path, a), r.holding(m.To, b))
	r.noteMoved(m.Path)
	r.noteMoved(m.To)
}

// link notes the new name of a file, which is another way to change it.
func (r *Recorder) link(m mutation.Mutation) {
	dir, name := r.dirs.open(m.Path)
	if info := lstat(dir, name); m.Path != "" && info != nil {
		if was, made := r.ledger.origin(m.Path); !made {
			if id, _ := identity(info); r.links[id] == "" {
				r.links[id] = was
			}
		}
	}
	r.touch(m.To, mutation.Make)
}

// mostPending is how many renames may be undecided at a time.
const mostPending = 16

// settlePending decides which renames have taken place: those that show, what was asked for by the thread that goes on,
// and where something else is to take the place.
func (r *Recorder) settlePending(m mutation.Mutation) {
	all := len(r.pending) > mostPending
	for thread, p := range r.pending {
		arrived := r.arrived(p)
		if !arrived && thread != m.Thread && m.Path != p.to && m.To != p.to && !all {
			continue
		}
		if delete(r.pending, thread); !arrived {
			if thread != m.Thread && !p.held.made { // it may yet be put there, and be replaced at once
				dir, name := r.dirs.open(p.from)
				if info := lstat(dir, name); info != nil && !info.IsDir() && !r.kept(p.held.from) {
					r.keep(p.held.from, dir, name, info, true)
				}
			}
			r.settle(p)
		}
	}
}

// arrived reports whether what is renamed is where it was to go.
func (r *Recorder) arrived(p rename) bool {
	dir, name := r.dirs.open(p.to)
	info := lstat(dir, name)
	if info == nil {
		return false
	}
	id, _ := identity(info)
	return id == p.held.id
}

// settle takes a rename back that has failed.
func (r *Recorder) settle(p rename) {
	if was, made := r.ledger.origin(p.to); made != p.held.made || !made && was != p.held.from {
		return // something has happened to that place since
	}
	dir, name := r.dirs.open(p.from)
	info := lstat(dir, name)
	if info == nil {
		return // it is gone since
	}
	if id, _ := identity(info); id == p.held.id {
		r.dirs.forget()
		r.ledger.takeBack(p.from, p.to, p.held)
	}
}

// sameDevice reports whether what is to be moved to a path could be, at once: elsewhere it is copied and deleted.
func sameDevice(to string, from fs.FileInfo) bool {
	info, err := os.Stat(filepath.Dir(to) + "/.") // fails where nothing may be put into it
	if err != nil {
		return false
	}
	a, _ := identity(from)
	b, _ := identity(info)
	return a.device == b.device
}

func empty(dir *os.Root, name string) bool {
	d, err := dir.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(1)
	return len(names) == 0
}

// reason is an error without the path that it is said of anyway.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// size is a number of bytes in words.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
