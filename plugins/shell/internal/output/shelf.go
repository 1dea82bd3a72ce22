package output

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"time"
)

// The bounds of the shelf.
const (
	FileBytes  = 16 << 20 // the largest file
	shelfBytes = 128 << 20
	ShelfFiles = 20 // how many there are
	shelfAge   = 24 * time.Hour
)

// ShelfDir is where whole outputs are kept, below the workspace: the one place that the agent's own read_file opens
// whatever its policy. Git does not see it.
const ShelfDir = ".picoclaw/output"

// NewFile makes a file on the shelf of a workspace, and clears away what is too old, too much or too many while it is
// written: a command that prints much needn't wait until the system has given the blocks of old files back. Nothing
// that a command has put in its way leads out of the workspace.
func NewFile(workspace string) (File, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(ShelfDir, 0o700); err != nil {
		return nil, err
	}
	shelf, err := root.OpenRoot(ShelfDir)
	if err != nil {
		return nil, err
	}
	if err := hide(root); err != nil {
		return nil, errors.Join(err, shelf.Close())
	}
	for n := range 100 {
		name := time.Now().UTC().Format("20060102-150405.000000") + "-" + strconv.Itoa(n) + ".txt"
		f, err := shelf.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, shelf.Close())
		}
		swept := make(chan struct{})
		go func() {
			defer close(swept)
			sweep(shelf, name, time.Now())
			_ = shelf.Close()
		}()
		return file{File: f, name: path.Join(ShelfDir, name), swept: swept}, nil
	}
	return nil, errors.Join(fs.ErrExist, shelf.Close())
}

// hide keeps the directory out of git's sight.
func hide(root *os.Root) error {
	f, err := root.OpenFile(".picoclaw/.gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// sweep removes the oldest files until there is room for the one that is being written, and those that are too old.
func sweep(shelf *os.Root, written string, now time.Time) {
	dir, err := shelf.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var total int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Name() != written {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Compare(a.ModTime().UnixNano(),
			b.ModTime().UnixNano())
	})
	for n, info := range files {
		left := len(files) - n
		if left < ShelfFiles && total+FileBytes <= shelfBytes && now.Sub(info.ModTime()) < shelfAge {
			return
		}
		if shelf.Remove(info.Name()) == nil {
			total -= info.Size()
		}
	}
}

// file is a file on the shelf by the name that agents know it by.
type file struct {
	*os.File
	name  string
	swept chan struct{}
}

func (f file) Name() string { return f.name }

// Close returns when there is room on the shelf again, too.
func (f file) Close() error {
	<-f.swept
	return f.File.Close()
}
