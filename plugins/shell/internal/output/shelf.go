package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Limits of the stored outputs.
const (
	MaxFileBytes   = 16 << 20 // the largest file
	maxTotalBytes  = 128 << 20
	MaxOutputFiles = 20 // how many there are
	maxOutputAge   = 24 * time.Hour
)

// OutputDir is the directory of complete outputs in the workspace. Every policy allows reading it; git ignores it.
const OutputDir = ".picoclaw/output"

// NewOutputFile creates a file in OutputDir, not through symlinks, and removes old files in the background.
func NewOutputFile(workspace string) (OutputFile, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	for _, dir := range []string{path.Dir(OutputDir), OutputDir} {
		if err = root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, statErr := root.Lstat(dir); statErr != nil || !info.IsDir() {
			return nil, errors.Join(statErr, fmt.Errorf("%s is not a directory", dir))
		}
	}
	shelf, err := root.OpenRoot(OutputDir)
	if err != nil {
		return nil, err
	}
	if err := createGitignore(root); err != nil {
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
			removeOldFiles(shelf, name, time.Now())
			_ = shelf.Close()
		}()
		return storedOutputFile{File: f, name: path.Join(OutputDir, name), swept: swept}, nil
	}
	return nil, errors.Join(fs.ErrExist, shelf.Close())
}

// createGitignore creates a .gitignore with which git ignores .picoclaw.
func createGitignore(root *os.Root) error {
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

// outputName is the form of the names of outputs.
var outputName = regexp.MustCompile(`^\d{8}-\d{6}\.\d{6}-\d+\.txt$`)

// isUntouchedOutput reports whether a file has the name of an output, and nobody has renamed it since it was written.
func isUntouchedOutput(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && outputName.MatchString(info.Name()) && changeTime(info).Sub(info.ModTime()).Abs() < time.Second
}

// removeOldFiles removes outputs that are too old, and then the oldest files until there is space for the new one.
func removeOldFiles(shelf *os.Root, written string, now time.Time) {
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
		if info, err := entry.Info(); err == nil && info.Name() != written && isUntouchedOutput(info) {
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
		if left < MaxOutputFiles && total+MaxFileBytes <= maxTotalBytes && now.Sub(info.ModTime()) < maxOutputAge {
			return
		}
		if shelf.Remove(info.Name()) == nil {
			total -= info.Size()
		}
	}
}

// storedOutputFile is a file in OutputDir with its path for agents.
type storedOutputFile struct {
	*os.File
	name  string
	swept chan struct{}
}

func (f storedOutputFile) Name() string { return f.name }

// Close closes the file after the removal of old files has ended.
func (f storedOutputFile) Close() error {
	<-f.swept
	return f.File.Close()
}
