package workspace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// pendingSlot is the room for one record, in bytes: a path and a NUL.
const pendingSlot = maxPath + 128

// pendingPrefix begins the names of the files with records.
const pendingPrefix = "pending-"

// pending records the temporary files that exist now in a file of this process's own, so that the next process can
// remove them if this one is killed. The file is locked for as long as the process lives. A record is a write to the
// page cache, which a killed process does not take with it.
type pending struct {
	dir string // "" records nothing

	mu   sync.Mutex
	file *os.File // made at the first record
	free []int
	next int
}

// add records a path and returns where.
func (p *pending) add(path string) (slot int, err error) {
	if p.dir == "" {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		if p.file, err = createLocked(p.dir, pendingPrefix); err != nil {
			return 0, err
		}
	}
	if n := len(p.free); n > 0 {
		slot, p.free = p.free[n-1], p.free[:n-1]
	} else {
		slot = p.next
		p.next++
	}
	_, err = p.file.WriteAt(append([]byte(path), 0), int64(slot)*pendingSlot)
	return slot, err
}

// done frees a record for the next. It stays as it is until then: it names what is no longer there, and names do not
// come again, so a sweep finds nothing to do.
func (p *pending) done(slot int) {
	if p.dir == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, slot)
}

// close removes the file of records if nothing is recorded any more.
func (p *pending) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	var err error
	if len(p.free) == p.next {
		err = os.Remove(p.file.Name())
	}
	err = errors.Join(err, p.file.Close())
	p.file = nil
	return err
}

// createLocked makes a file in the state directory that is locked. Somebody who sweeps may come between making and
// locking it; then another is made.
func createLocked(dir, prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, prefix+"*")
		if err != nil {
			return nil, err
		}
		if err := tryLock(f); err == nil {
			named, err := os.Stat(f.Name())
			opened, errOpened := f.Stat()
			if err == nil && errOpened == nil && os.SameFile(named, opened) {
				return f, nil
			}
		}
		_ = f.Close()
	}
}

// sweep removes what processes that were killed have left behind. It does what it can.
func (w *Workspace) sweep() {
	if w.pending.dir == "" {
		return
	}
	w.finish()
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, pendingPrefix+"*"))
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(f) == nil { // its process is gone
			left := slices.DeleteFunc(recorded(f), w.removeLitter)
			if len(left) == 0 {
				_ = os.Remove(name)
			}
		}
		_ = f.Close()
	}
}

// recorded reads the paths in a file of records.
func recorded(f *os.File) []string {
	var paths []string
	slot := make([]byte, pendingSlot)
	for {
		n, err := io.ReadFull(f, slot)
		if path, _, ok := bytes.Cut(slot[:n], []byte{0}); ok && len(path) > 0 {
			paths = append(paths, string(path))
		}
		if err != nil {
			return paths
		}
	}
}

// removeLitter removes something temporary and reports whether nothing is left to do. It goes the way of every change,
// so that a record can't name more than the policy opens, and touches nothing but what has a temporary's name.
func (w *Workspace) removeLitter(path string) (done bool) {
	if !tempName().MatchString(filepath.Base(path)) {
		return true
	}
	t, err := w.target(guard.Delete, path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer t.close()
	return removeAll(t.dir, t.name) == nil
}
