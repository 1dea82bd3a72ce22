package takeback

import (
	"archive/tar"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Kind says what an entry is about.
type Kind string

// The kinds of entries.
const (
	File Kind = "file" // what was there before, of each kind
	Dir  Kind = "dir"
	Sym  Kind = "link"
	Fifo Kind = "fifo"

	Made  Kind = "made"  // nothing was there before
	Moved Kind = "moved" // what was there is somewhere else now
)

// Entry is one path that an operation has changed.
type Entry struct {
	Kind       Kind              `json:"kind"`
	Path       string            `json:"path"`           // where it was before, or was made
	Now        string            `json:"now,omitempty"`  // where what was moved is
	Mode       fs.FileMode       `json:"mode,omitempty"` // what it was before, from here on
	UID        int               `json:"uid"`
	GID        int               `json:"gid"`
	Modified   int64             `json:"modified,omitempty"`  // in nanoseconds since 1970
	Attributes map[string]string `json:"attributes,omitzero"` // nil if they could not be read
	Link       string            `json:"link,omitempty"`      // where a symbolic link pointed to
	Same       string            `json:"same,omitempty"`      // the entry's path that has the contents: it was the same file
	Inode      uint64            `json:"inode,omitempty"`     // the number of a file that had several names
	Kept       bool              `json:"kept,omitempty"`      // the contents of a file are kept, not only what else it was
	At         int64             `json:"at,omitempty"`        // where in the archive they begin
	Size       int64             `json:"size,omitempty"`      // their length in bytes

	// After is the state that the operation has left at Path, or at Now; absent for nothing.
	After string `json:"after,omitempty"`
	// TimeOnly says of a directory that nothing but its time has changed.
	TimeOnly bool `json:"time_only,omitempty"`

	state string // what it was, in the words of After
	given bool   // attributes or an owner were given to it, or a mode
}

const absent = "absent"

// meta is what it was besides its contents.
func (e *Entry) meta() workspace.Meta {
	m := workspace.Meta{Mode: e.Mode, Modified: time.Unix(0, e.Modified), Attributes: e.Attributes}
	if e.UID != nobody && e.GID != nobody {
		m.Owner = &workspace.Owner{UID: e.UID, GID: e.GID}
	}
	return m
}

// file is the path under which the contents are kept: that of another name of the same file, or its own.
func (e *Entry) file() string {
	if e.Same != "" {
		return e.Same
	}
	return e.Path
}

// nobody is the number that a sandbox shows for owners whom it does not know.
const nobody = 65534

// The folders of an operation in its archive, and the list of its entries with the state that they were left in.
const (
	beforeFolder = "before"
	madeFolder   = "made"
	movedFolder  = "moved"
	listMember   = "entries.json"
)

// header is the entry's member of the archive. Its times have whole seconds; the list that ends the operation has all
// of them.
func (e *Entry) header(id string) *tar.Header {
	h := &tar.Header{
		Name: path.Join(id, beforeFolder, e.Path), Typeflag: tar.TypeReg, Mode: int64(e.Mode.Perm()),
		Uid: e.UID, Gid: e.GID, ModTime: time.Unix(0, e.Modified).Truncate(time.Second),
	}
	switch e.Kind {
	case File:
		switch h.Size = e.Size; {
		case e.Same != "":
			h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, path.Join(id, beforeFolder, e.Same)
		case !e.Kept:
			h.Size = 0
			h.PAXRecords = map[string]string{metaRecord: "1"}
		}
	case Dir:
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
	case Sym:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Link
	case Fifo:
		h.Typeflag = tar.TypeFifo
	case Made:
		h.Name, h.ModTime = path.Join(id, madeFolder, e.Path), time.Time{}
	case Moved:
		h.Name, h.ModTime = path.Join(id, movedFolder, e.Path), time.Time{}
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Now
	}
	return h
}

// metaRecord marks a file of which only what it was besides its contents is kept.
const metaRecord = "PICOCLAW.meta"

// entryOf reads an entry back from its member; nil for one that is none. The archive is read up to at.
func entryOf(rest string, h *tar.Header, at int64) *Entry {
	folder, name, _ := strings.Cut(rest, "/")
	e := &Entry{
		Path: "/" + name, Mode: h.FileInfo().Mode(), UID: h.Uid, GID: h.Gid, Modified: h.ModTime.UnixNano(), Link: h.Linkname,
	}
	switch {
	case folder == madeFolder:
		return &Entry{Kind: Made, Path: e.Path}
	case folder == movedFolder:
		return &Entry{Kind: Moved, Path: e.Path, Now: h.Linkname}
	case folder != beforeFolder:
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		e.Kind = Dir
	case tar.TypeSymlink:
		e.Kind = Sym
	case tar.TypeFifo:
		e.Kind = Fifo
	case tar.TypeLink:
		_, same, _ := strings.Cut(h.Linkname, "/"+beforeFolder+"/")
		e.Kind, e.Same, e.Link, e.Kept = File, "/"+same, "", true
	case tar.TypeReg:
		e.Kind, e.At, e.Size, e.Kept = File, at, h.Size, h.PAXRecords[metaRecord] == ""
	default:
		return nil
	}
	return e
}

// describe is an entry for what is there now.
func describe(path string, info fs.FileInfo) *Entry {
	e := &Entry{Path: path, Mode: info.Mode(), Modified: info.ModTime().UnixNano(), Size: info.Size()}
	if owner := workspace.MetaOf(info).Owner; owner != nil {
		e.UID, e.GID = owner.UID, owner.GID
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Kind = File
	case mode.IsDir():
		e.Kind, e.Size = Dir, 0
	case mode&fs.ModeSymlink != 0:
		e.Kind = Sym
	case mode&fs.ModeNamedPipe != 0:
		e.Kind = Fifo
	default:
		e.Kind = ""
	}
	return e
}

// stateOf is what something is in a word that changes with it. What is in a directory is not a part of it.
func stateOf(info fs.FileInfo) string {
	var state []byte
	number := func(n int64) { state = strconv.AppendInt(append(state, ' '), n, 10) }
	if info.IsDir() {
		state = append(state, "dir "...)
		state = strconv.AppendInt(state, int64(info.Mode()&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky)), 8)
		if owner := workspace.MetaOf(info).Owner; owner != nil {
			number(int64(owner.UID))
			number(int64(owner.GID))
		}
		return string(state)
	}
	id, changed := identity(info)
	state = append(state, info.Mode().String()...)
	number(info.Size())
	number(info.ModTime().UnixNano())
	number(int64(id.inode)) //nolint:gosec // to be compared only
	number(changed)
	return string(state)
}

// lstat returns what is at a path, nil for nothing or what can't be reached.
func lstat(root *os.Root, name string) fs.FileInfo {
	if root == nil {
		return nil
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil
	}
	return info
}
