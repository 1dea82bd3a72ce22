package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
)

// The modes of what is made new: for the owner only.
const (
	newFile = 0o600
	newDir  = 0o700
)

// Edit is a change to the contents of one file.
type Edit struct {
	Path string

	// Change returns the new contents. It may be called more than once, each time with what the file is then, and
	// changes nothing itself.
	Change func(old *Old) ([]byte, error)

	// Mode is the mode of a file that is made new, less the process's umask; 0600 if zero.
	Mode fs.FileMode

	// Meta, if not nil, is what the file is to be besides, whatever it was. One that can be changed in place only
	// stays what it is.
	Meta *Meta

	// Parents says that missing directories are made.
	Parents bool
}

// Changed is one file of a change that is made up and not done yet.
type Changed struct {
	Old  *Old
	Data []byte   // the new contents
	Dirs []string // the directories that were made for it, outermost first
}

// Old is what a file is before it is changed.
type Old struct {
	Path string      // absolute, symbolic links resolved
	Info fs.FileInfo // nil if there is no file yet

	w     *Workspace
	file  *os.File
	asked string
	data  []byte
	read  bool
}

// Exists reports whether there is a file.
func (o *Old) Exists() bool { return o.Info != nil }

// Links returns how many names the file has.
func (o *Old) Links() uint64 {
	if o.Info == nil {
		return 0
	}
	return links(o.Info)
}

// MaxOld is how large a file may be whose contents are changed by its old ones, in bytes: they are in memory, more
// than once.
const MaxOld = 64 << 20

// Bytes returns the contents, nil if there is no file. They may not be changed.
func (o *Old) Bytes() ([]byte, error) {
	if o.read || o.file == nil {
		return o.data, nil
	}
	if o.Info.Size() > MaxOld {
		return nil, tooLarge(o.asked, o.Info.Size(), MaxOld)
	}
	data, err := o.w.readAll(io.NewSectionReader(o.file, 0, 1<<62), o.Info, o.asked)
	if err != nil {
		return nil, err
	}
	o.data, o.read = data, true
	return data, nil
}

// Contents are contents that are not in memory, read from their beginning or from anywhere.
type Contents interface {
	io.Reader
	io.ReaderAt
}

// Reader returns the contents, for those who need not have them in memory; nil if there is no file. It may be used
// until the callback that was given o has returned.
func (o *Old) Reader() Contents {
	if o.file == nil {
		return nil
	}
	if o.read {
		return bytes.NewReader(o.data)
	}
	return io.NewSectionReader(o.file, 0, 1<<62)
}

// close closes the file before the change has ended.
func (o *Old) close() {
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// WriteFile makes data the whole contents of a file. A file that is there keeps its mode, owner and extended
// attributes; a new one is for its owner only. Missing parent directories are made. When WriteFile has returned
// without an error the file is on disk; when the machine stops before, the old file is there.
func (w *Workspace) WriteFile(path string, data []byte) error {
	return w.Apply(nil, Edit{Path: path, Parents: true, Change: func(*Old) ([]byte, error) { return data, nil }})
}

// Update replaces the contents of a file by what change makes of them. old is nil and exists false if there is no
// file yet. An error of change leaves everything as it was. Updates of one file take turns, also those of other
// workspaces and processes.
func (w *Workspace) Update(path string, change func(old []byte, exists bool) ([]byte, error)) error {
	return w.Apply(nil, Edit{Path: path, Parents: true, Change: func(old *Old) ([]byte, error) {
		data, err := old.Bytes()
		if err != nil {
			return nil, err
		}
		return change(data, old.Exists())
	}})
}
