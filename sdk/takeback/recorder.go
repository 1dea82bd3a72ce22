package takeback

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
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
	if len(path) > longest {
		r.loseOnce(fmt.Sprintf("%.100s… and other paths of more than %d bytes", path, longest))
		return
	}
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
		if errors.Is(err, fs.ErrNotExist) {
			file, err = r.openRenamed(info)
		}
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
	if contents && e.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		r.loseOnce(fmt.Sprintf("%.100s… (the setuid and setgid bits)", was))
	}
	if contents && (e.UID == nobody || e.GID == nobody) {
		r.loseOnce(fmt.Sprintf("%.100s… (owners other than picoclaw's)", was))
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

// longest is how long a path may be that is kept, in bytes: the kernel opens none of 4096, and undo needs some for
// names of its own.
const longest = 4000

// loseOnce is lose for what is said of many.
func (r *Recorder) loseOnce(what string) {
	kind := what[strings.LastIndex(what, "…")+1:]
	for _, lost := range r.op.Lost {
		if strings.HasSuffix(lost, kind) {
			return
		}
	}
	r.lose(what)
}

// lose notes what undo can't bring back.
func (r *Recorder) lose(what string) {
	switch {
	case slices.Contains(r.op.Lost, what):
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
