package workspace

import (
	"container/heap"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// directoryBatch is the number of directory entries read per call.
const directoryBatch = 1024

// lazyDirEntry is a directory entry whose Info method stats the file on demand.
type lazyDirEntry struct {
	name string
	kind fs.FileMode
	info func(name string) (fs.FileInfo, error)
}

func (e lazyDirEntry) Name() string               { return e.name }
func (e lazyDirEntry) Type() fs.FileMode          { return e.kind }
func (e lazyDirEntry) IsDir() bool                { return e.kind.IsDir() }
func (e lazyDirEntry) Info() (fs.FileInfo, error) { return e.info(e.name) }
func (e lazyDirEntry) String() string             { return fs.FormatDirEntry(e) }

// DirPage is a page of a directory listing, sorted by name.
type DirPage struct {
	Entries []fs.DirEntry
	Total   int  // number of all entries
	More    bool // more entries follow
}

// ReadDir lists a directory, sorted by name.
func (w *Workspace) ReadDir(path string) ([]fs.DirEntry, error) {
	page, err := w.ReadDirPage(path, "", 0)
	return page.Entries, err
}

// ReadDirPage lists limit entries in name order, starting with the first name greater than after. Memory use is
// proportional to limit; 0 lists all.
func (w *Workspace) ReadDirPage(path, after string, limit int) (DirPage, error) {
	var page DirPage
	err := w.withAllowedTarget(guard.List, path, func(at accessTarget) error {
		d, err := at.openDir()
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		page, err = readDirPage(d, after, limit, func(name string) (info fs.FileInfo, err error) {
			err = w.InspectTree(guard.List, filepath.Join(path, name), func(t *FileTree) error { info = t.Info; return nil })
			return info, err
		})
		return err
	})
	return page, err
}

// openDir opens a directory for reading its entries.
func (at accessTarget) openDir() (*os.File, error) {
	if at.path != "" {
		return openNoSymlinks(at.path, os.O_RDONLY|nonblockFlag|dirOnlyFlag)
	}
	return at.dir.OpenFile(at.name, os.O_RDONLY|nonblockFlag|dirOnlyFlag, 0)
}

// readDirPage reads a whole directory and keeps the limit smallest names that sort after a name.
func readDirPage(d *os.File, after string, limit int, info func(string) (fs.FileInfo, error)) (DirPage, error) {
	d, err := duplicateDirHandle(d)
	if err != nil {
		return DirPage{}, err
	}
	defer func() { _ = d.Close() }()
	var page DirPage
	var kept largestNameHeap
	for {
		batch, err := d.ReadDir(directoryBatch)
		kept = slices.Grow(kept, len(batch))
		for _, e := range batch {
			page.Total++
			switch {
			case e.Name() <= after:
			case limit <= 0 || len(kept) < limit:
				kept = append(kept, lazyDirEntry{e.Name(), e.Type(), info})
				if len(kept) == limit {
					heap.Init(&kept)
				}
			default:
				page.More = true
				if e.Name() < kept[0].Name() {
					kept[0] = lazyDirEntry{e.Name(), e.Type(), info}
					heap.Fix(&kept, 0)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return DirPage{}, err
		}
	}
	page.Entries = kept
	slices.SortFunc(page.Entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return page, nil
}

// largestNameHeap is a heap with the largest name on top.
type largestNameHeap []fs.DirEntry

func (h largestNameHeap) Len() int           { return len(h) }
func (h largestNameHeap) Less(i, j int) bool { return h[i].Name() > h[j].Name() }
func (h largestNameHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop are required by heap.Interface.
func (h *largestNameHeap) Push(x any) { *h = append(*h, x.(fs.DirEntry)) }

func (h *largestNameHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// OpenRoot opens a directory as an os.Root, which stays on the directory after a rename. The policy is not checked
// again when the root is used.
func (w *Workspace) OpenRoot(path string) (*os.Root, error) {
	var dir *os.Root
	err := w.withAllowedTarget(guard.List, path, func(at accessTarget) (err error) {
		if at.path != "" {
			dir, err = openDirRoot(at.path)
			return err
		}
		dir, err = at.dir.OpenRoot(at.name)
		return err
	})
	return dir, err
}

// OpenDir opens a directory. The handle stays on the directory after a rename, so a child process can start there
// safely.
func (w *Workspace) OpenDir(path string) (*os.File, error) {
	var dir *os.File
	err := w.withAllowedTarget(guard.List, path, func(at accessTarget) (err error) {
		if at.path != "" {
			dir, err = openNoSymlinks(at.path, os.O_RDONLY|dirOnlyFlag)
			return err
		}
		root, err := at.dir.OpenRoot(at.name) // fails on anything but a directory, without opening it
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		dir, err = root.Open(".")
		return err
	})
	return dir, err
}
