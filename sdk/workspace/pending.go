package workspace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// pendingSlotSize is the size of a record: a path and a NUL.
const pendingSlotSize = maxPathLength + 128

// pendingPrefix starts the names of record files.
const pendingPrefix = "pending-"

// tempFileRecords records the temporary files of this process in a file, so that the next process removes them after a
// crash. The record file is locked while the process lives. It need not be synced: the page cache survives the process.
type tempFileRecords struct {
	dir string // "" disables records

	mu   sync.Mutex
	file *os.File // created with the first record
	free []int
	next int
}

// addRecord records a path and returns the number of its record.
func (p *tempFileRecords) addRecord(path string) (slot int, err error) {
	if p.dir == "" {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		if p.file, err = createLockedFile(p.dir, pendingPrefix); err != nil {
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

// freeRecord allows reuse of a record. Its stale path is harmless, because temporary names are unique.
func (p *tempFileRecords) freeRecord(slot int) {
	if p.dir == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, slot)
}

// closeFile closes the record file, and deletes it if all records are free.
func (p *tempFileRecords) closeFile() error {
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

// createLockedFile creates a file in the state directory and locks it. It retries if another process removes the file
// before the lock.
func createLockedFile(dir, prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, prefix+"*")
		if err != nil {
			return nil, err
		}
		if err := tryFileLock(f); err == nil {
			named, err := os.Stat(f.Name())
			opened, errOpened := f.Stat()
			if err == nil && errOpened == nil && os.SameFile(named, opened) {
				return f, nil
			}
		}
		_ = f.Close()
	}
}

// recoverFromKilledProcesses removes temporary files of killed processes and completes their writes in place. It
// ignores errors.
func (w *Workspace) recoverFromKilledProcesses() {
	if w.pending.dir == "" {
		return
	}
	w.completeInterruptedWrites()
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, pendingPrefix+"*"))
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryFileLock(f) == nil { // its process has exited
			left := slices.DeleteFunc(readRecordedPaths(f), w.removeLeftoverTempFile)
			if len(left) == 0 {
				_ = os.Remove(name)
			}
		}
		_ = f.Close()
	}
}

func readRecordedPaths(f *os.File) []string {
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

// removeLeftoverTempFile removes a temporary file and reports whether its record is no longer needed. The policy is
// checked as for every change, so a record can't name another file.
func (w *Workspace) removeLeftoverTempFile(path string) (done bool) {
	if !tempNamePattern().MatchString(filepath.Base(path)) {
		return true
	}
	t, err := w.openTargetParent(guard.Delete, path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer t.closeHandles()
	return removeTempTree(t.dir, t.name) == nil
}

// syncDir syncs the entries of a directory to disk. On Windows it does nothing, because the file system journals names.
func syncDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}

// syncTree syncs a directory tree to disk. Where possible, one call syncs the file system, because syncing each file is
// slow.
func syncTree(t *changeTarget, name string) error {
	if done, err := syncFileSystem(t.handle); done {
		return err
	}
	tree := &changeTarget{dir: t.dir, name: name, path: name}
	all, err := tree.openTree()
	if err != nil || all == nil {
		return err
	}
	return all.WalkTree(func(e *TreeEntry) error {
		if !e.Info.IsDir() && !e.Info.Mode().IsRegular() {
			return nil
		}
		f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblockFlag, 0)
		if err != nil {
			return err
		}
		if e.Info.IsDir() {
			err = syncDir(f)
		} else {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}

// SyncFileSystem syncs the file system of a directory, where the kernel supports that.
func SyncFileSystem(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	_, err = syncFileSystem(d)
	return errors.Join(err, d.Close())
}
