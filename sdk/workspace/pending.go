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

// pendingSlotSize is the size of a record: a path and a NUL.
const pendingSlotSize = maxPathLength + 128

// pendingPrefix begins the names of record files.
const pendingPrefix = "pending-"

// pendingFiles records existing temporary files in a file of this process, so that the next process removes them after
// a crash. The file is locked while the process lives. Records are in the page cache, which survives the process.
type pendingFiles struct {
	dir string // "" disables records

	mu   sync.Mutex
	file *os.File // created with the first record
	free []int
	next int
}

// addRecord records a path and returns its slot.
func (p *pendingFiles) addRecord(path string) (slot int, err error) {
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
	_, err = p.file.WriteAt(append([]byte(path), 0), int64(slot)*pendingSlotSize)
	return slot, err
}

// freeSlot frees a record for reuse. Its stale path is harmless, since temporary names are unique.
func (p *pendingFiles) freeSlot(slot int) {
	if p.dir == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, slot)
}

// closeFile removes the file if it has no records.
func (p *pendingFiles) closeFile() error {
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

// createLocked creates a locked file in the state directory. It retries if another process removes the file before it
// is locked.
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

// removeLeftovers removes temporary files of killed processes, as far as possible.
func (w *Workspace) removeLeftovers() {
	if w.pending.dir == "" {
		return
	}
	w.recoverIntents()
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, pendingPrefix+"*"))
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(f) == nil { // its process has exited
			left := slices.DeleteFunc(readRecords(f), w.removeLeftover)
			if len(left) == 0 {
				_ = os.Remove(name)
			}
		}
		_ = f.Close()
	}
}

// readRecords reads the paths in a file of records.
func readRecords(f *os.File) []string {
	var paths []string
	slot := make([]byte, pendingSlotSize)
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

// removeLeftover removes a temporary file and reports whether nothing is left to do. It is checked like every change,
// so that records can't name other files.
func (w *Workspace) removeLeftover(path string) (done bool) {
	if !tempNamePattern().MatchString(filepath.Base(path)) {
		return true
	}
	t, err := w.openTarget(guard.Delete, path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer t.closeHandles()
	return removeOwn(t.dir, t.name) == nil
}
