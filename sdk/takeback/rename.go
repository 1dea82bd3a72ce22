package takeback

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// rename is one that was about to be made.
type rename struct {
	from, to string
	held     holding
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

// findRenamed corrects where what was renamed is now: of several that rename the same at once, some fail.
func (r *Recorder) findRenamed() {
	lost := maps.Clone(r.renamed)
	at := func(path string, id fileID) bool {
		info := r.dirs.stat(path)
		if info == nil {
			return false
		}
		is, _ := identity(info)
		return is == id
	}
	for now, m := range r.ledger.moved {
		if at(now, m.id) {
			delete(lost, m.id)
		}
	}
	maps.DeleteFunc(lost, func(id fileID, was string) bool { return r.kept(was) || at(was, id) })
	if len(lost) == 0 {
		return
	}
	_ = walk(r.files, func(now string, info fs.FileInfo) error {
		id, _ := identity(info)
		if was, ok := lost[id]; ok {
			delete(lost, id)
			r.ledger.take(now)
			r.ledger.put(now, holding{from: was, id: id})
		}
		return nil
	})
}

// openRenamed opens a file that another thread has renamed since it was looked at.
func (r *Recorder) openRenamed(info fs.FileInfo) (*os.File, error) {
	for _, p := range r.pending {
		for _, path := range []string{p.to, p.from} {
			dir, name := r.dirs.open(path)
			if now := lstat(dir, name); now != nil && os.SameFile(now, info) {
				return dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			}
		}
	}
	return nil, fs.ErrNotExist
}
