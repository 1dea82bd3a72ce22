package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
)

// Modes of new files and directories, accessible only to their owner.
const (
	newFileMode = 0o600
	newDirMode  = 0o700
)

// FileChange is a change of one file: new contents, computed from the old ones, and metadata.
type FileChange struct {
	Path string

	// Change returns the new contents. It has no side effects, and may be called again with a newer state of the file.
	Change func(old *OldFile) ([]byte, error)

	// Mode is the mode of a new file, minus the umask; 0600 if zero.
	Mode fs.FileMode

	// Meta, if not nil, is the new metadata. A file written in place keeps its metadata.
	Meta *FileMeta

	// Parents creates missing parent directories.
	Parents bool
}

// PlannedChange is the computed change of one file, before it is made.
type PlannedChange struct {
	Old  *OldFile
	Data []byte   // the new contents
	Dirs []string // directories created for it, outermost first
}

// OldFile is a file before its change.
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

// MaxOldBytes is the maximum size of a file whose new contents depend on the old ones, because both are in memory.
const MaxOldBytes = 64 << 20

// Bytes returns the contents, or nil if the file does not exist. Do not modify them.
func (o *OldFile) Bytes() ([]byte, error) {
	if o.read || o.file == nil {
		return o.data, nil
	}
	if o.Info.Size() > MaxOldBytes {
		return nil, tooLargeError(o.asked, o.Info.Size(), MaxOldBytes)
	}
	data, err := o.w.readLimited(io.NewSectionReader(o.file, 0, 1<<62), o.Info, o.asked)
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

// Reader returns the contents without loading them, or nil if the file does not exist. It is valid until the Change
// callback returns.
func (o *OldFile) Reader() ContentReader {
	if o.file == nil {
		return nil
	}
	if o.read {
		return bytes.NewReader(o.data)
	}
	return io.NewSectionReader(o.file, 0, 1<<62)
}

// closeFile closes the file early, before the transaction ends.
func (o *OldFile) closeFile() {
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// WriteFile sets the whole contents of a file and creates missing parent directories. An existing file keeps its mode,
// owner and extended attributes; a new one is accessible only to its owner. The file is on disk when WriteFile returns.
// After a crash it has either the old or the new contents.
func (w *Workspace) WriteFile(path string, data []byte) error {
	return w.ApplyChanges(nil, FileChange{Path: path, Parents: true, Change: func(*OldFile) ([]byte, error) { return data, nil }})
}

// UpdateFile replaces the contents of a file with the result of change. If the file does not exist, old is nil and
// exists is false. An error of change leaves the file unchanged. A lock serialises updates of one file, also between
// workspaces and processes.
func (w *Workspace) UpdateFile(path string, change func(old []byte, exists bool) ([]byte, error)) error {
	return w.ApplyChanges(nil, FileChange{Path: path, Parents: true, Change: func(old *OldFile) ([]byte, error) {
		data, err := old.Bytes()
		if err != nil {
			return nil, err
		}
		return change(data, old.Exists())
	}})
}
