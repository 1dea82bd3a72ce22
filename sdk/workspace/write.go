package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
)

// Modes of new files and directories: private.
const (
	newFileMode = 0o600
	newDirMode  = 0o700
)

// Edit is a change to the contents of one file.
type Edit struct {
	Path string

	// Change returns the new contents. It has no side effects, and may be called again with a newer state of the file.
	Change func(old *OldFile) ([]byte, error)

	// Mode is the mode of a new file, minus the umask; 0600 if zero.
	Mode fs.FileMode

	// Meta, if not nil, is the new metadata. Files changed in place keep theirs.
	Meta *FileMeta

	// Parents creates missing directories.
	Parents bool
}

// PlannedChange is one file of a computed change.
type PlannedChange struct {
	Old  *OldFile
	Data []byte   // the new contents
	Dirs []string // directories created for it, outermost first
}

// OldFile is a file before a change.
type OldFile struct {
	Path string      // absolute and resolved
	Info fs.FileInfo // nil if it does not exist

	w     *Workspace
	file  *os.File
	asked string
	data  []byte
	read  bool
}

// Exists reports whether the file exists.
func (o *OldFile) Exists() bool { return o.Info != nil }

// LinkCount returns the number of hard links.
func (o *OldFile) LinkCount() uint64 {
	if o.Info == nil {
		return 0
	}
	return linkCount(o.Info)
}

// MaxOldBytes limits files whose new contents depend on the old ones, since both are in memory.
const MaxOldBytes = 64 << 20

// Bytes returns the contents; nil if there is no file. They must not be changed.
func (o *OldFile) Bytes() ([]byte, error) {
	if o.read || o.file == nil {
		return o.data, nil
	}
	if o.Info.Size() > MaxOldBytes {
		return nil, tooLargeError(o.asked, o.Info.Size(), MaxOldBytes)
	}
	data, err := o.w.readAll(io.NewSectionReader(o.file, 0, 1<<62), o.Info, o.asked)
	if err != nil {
		return nil, err
	}
	o.data, o.read = data, true
	return data, nil
}

// ContentReader reads contents sequentially or at offsets.
type ContentReader interface {
	io.Reader
	io.ReaderAt
}

// Reader returns the contents without loading them; nil if there is no file. It is valid until the callback returns.
func (o *OldFile) Reader() ContentReader {
	if o.file == nil {
		return nil
	}
	if o.read {
		return bytes.NewReader(o.data)
	}
	return io.NewSectionReader(o.file, 0, 1<<62)
}

// closeFile closes the file before the change ends.
func (o *OldFile) closeFile() {
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// WriteFile makes data the whole contents of a file. A file that is there keeps its mode, owner and extended
// attributes; a new one is for its owner only. Missing parent directories are made. When WriteFile has returned
// without an error the file is on disk; when the machine stops before, the old file is there.
func (w *Workspace) WriteFile(path string, data []byte) error {
	return w.ApplyEdits(nil, Edit{Path: path, Parents: true, Change: func(*OldFile) ([]byte, error) { return data, nil }})
}

// Update replaces the contents of a file by what change makes of them. old is nil and exists false if there is no
// file yet. An error of change leaves everything as it was. Updates of one file take turns, also those of other
// workspaces and processes.
func (w *Workspace) Update(path string, change func(old []byte, exists bool) ([]byte, error)) error {
	return w.ApplyEdits(nil, Edit{Path: path, Parents: true, Change: func(old *OldFile) ([]byte, error) {
		data, err := old.Bytes()
		if err != nil {
			return nil, err
		}
		return change(data, old.Exists())
	}})
}
