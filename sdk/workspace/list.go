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

// directoryBatch is how many entries of a directory are read at a time.
const directoryBatch = 1024

// dirEntry is an entry of a directory. To look at it is an access like every other.
type dirEntry struct {
	name string
	kind fs.FileMode
	info func(name string) (fs.FileInfo, error)
}

func (e dirEntry) Name() string               { return e.name }
func (e dirEntry) Type() fs.FileMode          { return e.kind }
func (e dirEntry) IsDir() bool                { return e.kind.IsDir() }
func (e dirEntry) Info() (fs.FileInfo, error) { return e.info(e.name) }
func (e dirEntry) String() string             { return fs.FormatDirEntry(e) }

// Page is a part of a directory's entries, sorted by name.
type Page struct {
	Entries []fs.DirEntry
	Total   int  // how many entries there are in all
	More    bool // there are entries after these
}

// ReadDir lists a directory, sorted by name.
func (w *Workspace) ReadDir(path string) ([]fs.DirEntry, error) {
	page, err := w.ReadDirPage(path, "", 0)
	return page.Entries, err
}

// ReadDirPage lists the first entries of a directory, at most limit of them, whose names come after a given one. Memory
// is for limit entries, however many there are; a limit of 0 is none.
func (w *Workspace) ReadDirPage(path, after string, limit int) (Page, error) {
	var page Page
	err := w.use(guard.List, path, func(at place) error {
		d, err := at.openDir()
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		page, err = readPage(d, after, limit, func(name string) (info fs.FileInfo, err error) {
			err = w.Look(guard.List, filepath.Join(path, name), func(t *Tree) error { info = t.Info; return nil })
			return info, err
		})
		return err
	})
	return page, err
}

// openDir opens the directory at a place for reading its entries.
func (at place) openDir() (*os.File, error) {
	if at.path != "" {
		return openExactly(at.path, os.O_RDONLY|nonblock|directory)
	}
	return at.dir.OpenFile(at.name, os.O_RDONLY|nonblock|directory, 0)
}

// readPage reads a directory to its end and keeps the limit smallest names after a given one.
func readPage(d *os.File, after string, limit int, info func(string) (fs.FileInfo, error)) (Page, error) {
	d, err := entries(d)
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = d.Close() }()
	var page Page
	var kept largestFirst
	for {
		batch, err := d.ReadDir(directoryBatch)
		kept = slices.Grow(kept, len(batch))
		for _, e := range batch {
			page.Total++
			switch {
			case e.Name() <= after:
			case limit <= 0 || len(kept) < limit:
				kept = append(kept, dirEntry{e.Name(), e.Type(), info})
				if len(kept) == limit {
					heap.Init(&kept)
				}
			default:
				page.More = true
				if e.Name() < kept[0].Name() {
					kept[0] = dirEntry{e.Name(), e.Type(), info}
					heap.Fix(&kept, 0)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Page{}, err
		}
	}
	page.Entries = kept
	slices.SortFunc(page.Entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return page, nil
}

// largestFirst is a heap of entries with the largest name on top.
type largestFirst []fs.DirEntry

func (h largestFirst) Len() int           { return len(h) }
func (h largestFirst) Less(i, j int) bool { return h[i].Name() > h[j].Name() }
func (h largestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop are for heap's use only; readPage needs neither.
func (h *largestFirst) Push(x any) { *h = append(*h, x.(fs.DirEntry)) }

// Pop removes the last entry.
func (h *largestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// OpenRoot opens a directory to work on what is in it, one name at a time. Like that of [Workspace.OpenDir] the handle
// stays on that directory. It is not decided again what is done through it.
func (w *Workspace) OpenRoot(path string) (*os.Root, error) {
	var dir *os.Root
	err := w.use(guard.List, path, func(at place) (err error) {
		if at.path != "" {
			dir, err = os.OpenRoot(at.path)
			return err
		}
		dir, err = at.dir.OpenRoot(at.name)
		return err
	})
	return dir, err
}

// OpenDir opens a directory. The handle stays on that directory whatever becomes of its name, so a process that is to
// start in it can be given the handle instead of the name.
func (w *Workspace) OpenDir(path string) (*os.File, error) {
	var dir *os.File
	err := w.use(guard.List, path, func(at place) (err error) {
		if at.path != "" {
			dir, err = openExactly(at.path, os.O_RDONLY|directory)
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
