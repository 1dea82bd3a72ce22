package undo

import (
	"errors"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// directory is an open directory. Its methods take one name in it, follow no link at that name, and so never leave it.
type directory struct {
	path string
	root *os.Root
	file *os.File
}

// openDirectory opens a directory through the workspace, so only what the policy opens.
func openDirectory(files *workspace.Workspace, path string) (*directory, error) {
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
	return &directory{path, root, file}, nil
}

// openBelow opens a directory in this one. A link at the name is not followed.
func (d *directory) openBelow(name string) (*directory, error) {
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
	return &directory{d.path + string(os.PathSeparator) + name, root, file}, nil
}

func (d *directory) closeHandles() {
	_ = d.file.Close()
	_ = d.root.Close()
}

// isClosed reports whether the owner of the directory may not look into it.
func (d *directory) isClosed() bool {
	_, err := d.statName(".")
	return err != nil
}

// modeBits are those of a directory's mode that can be set.
func modeBits(mode fs.FileMode) fs.FileMode {
	return mode & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
}

// listNames returns the names in the directory.
func (d *directory) listNames() ([]string, error) {
	file, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return file.Readdirnames(-1)
}

var errNoDirectory = errors.New("not a directory")

// attributesOf returns the extended attributes of an open file that a program may set; nil if they can't be read.
func attributesOf(f *os.File) map[string][]byte {
	attributes, err := workspace.ReadAttributes(f)
	if err != nil || attributes == nil {
		return nil
	}
	all := make(map[string][]byte, len(attributes))
	for key, value := range attributes {
		all[key] = []byte(value)
	}
	return all
}
