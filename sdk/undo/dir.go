package undo

import (
	"errors"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// dirHandle is an open directory. Its methods take one name in the directory and never follow a symlink at that name.
type dirHandle struct {
	path string
	root *os.Root
	file *os.File
}

// openDirHandle opens a directory through the workspace, which applies the policy.
func openDirHandle(files *workspace.Workspace, path string) (*dirHandle, error) {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() { // opening a FIFO would wait for a writer
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNoDirectory}
	}
	root, err := files.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	file, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &dirHandle{path, root, file}, nil
}

// openSubdir opens a subdirectory. It refuses a symlink.
func (d *dirHandle) openSubdir(name string) (*dirHandle, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNoDirectory}
	}
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	file, err := root.Open(".")
	if err == nil {
		var opened fs.FileInfo
		if opened, err = file.Stat(); err == nil && !os.SameFile(info, opened) {
			err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} // replaced, perhaps by a link
			_ = file.Close()
		}
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &dirHandle{d.path + string(os.PathSeparator) + name, root, file}, nil
}

func (d *dirHandle) closeHandles() {
	_ = d.file.Close()
	_ = d.root.Close()
}

// isInaccessible reports whether names in the directory can't be read because its search permission is missing.
func (d *dirHandle) isInaccessible() bool {
	_, err := d.statName(".")
	return err != nil
}

// settableDirMode returns the mode bits that chmod can set on a directory.
func settableDirMode(mode fs.FileMode) fs.FileMode {
	return mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
}

func (d *dirHandle) listNames() ([]string, error) {
	file, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return file.Readdirnames(-1)
}

var errNoDirectory = errors.New("not a directory")

// readFileXattrs returns the extended attributes of an open file, except those that programs can't set. It returns
// nil if they can't be read.
func readFileXattrs(f *os.File) map[string][]byte {
	attributes, err := workspace.ReadXattrs(f)
	if err != nil || attributes == nil {
		return nil
	}
	all := make(map[string][]byte, len(attributes))
	for key, value := range attributes {
		all[key] = []byte(value)
	}
	return all
}
