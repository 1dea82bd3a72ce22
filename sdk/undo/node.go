package undo

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Identity tells a file, directory or link from every other one, also from a later one with the same inode number: the
// file handle of the file system, or else device, inode and birth time. It is empty where a file system offers neither.
type Identity string

// node describes the file, directory or link at a name.
type node struct {
	ID       Identity
	Mode     fs.FileMode
	UID, GID int
	Links    uint64 // number of hard links
	Size     int64  // bytes
	Modified int64  // nanoseconds since 1970
	Changed  int64  // change time, nanoseconds since 1970; no program can set it
	Mount    uint64 // the mount or, on systems that do not tell it, the device: a file is renamed within one
}

// state is what an operation left of an object. A change by anybody else shows in it.
type state struct {
	Changed  int64  `json:"changed"`
	Modified int64  `json:"modified"`
	Size     int64  `json:"size"`
	Mode     uint32 `json:"mode"`
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	// Hash is the SHA-256 of the contents of a file that changed so recently that a later change could have the same time.
	Hash string `json:"hash,omitempty"`
}

func (n *node) toState() *state {
	return &state{Changed: n.Changed, Modified: n.Modified, Size: n.Size, Mode: uint32(n.Mode), UID: n.UID, GID: n.GID}
}

// nobody is the number that a sandbox shows for owners it does not know.
const nobody = 65534

// object is a file, directory or link that an operation touched, as it was before.
type object struct {
	ID         Identity          `json:"id"`
	Mode       fs.FileMode       `json:"mode"`
	UID        int               `json:"uid"`
	GID        int               `json:"gid"`
	Links      uint64            `json:"links,omitempty"`
	Size       int64             `json:"size,omitempty"`
	Modified   int64             `json:"modified"`
	Changed    int64             `json:"changed"`
	Attributes map[string][]byte `json:"attributes,omitzero"`
	Target     rawText           `json:"target,omitempty"`     // of a symbolic link
	Created    bool              `json:"created,omitempty"`    // by the operation
	Content    int               `json:"content,omitempty"`    // number of the archive member with the contents; 0 for none
	Prefix     bool              `json:"prefix,omitempty"`     // the contents are the first Size bytes of the present ones
	After      *state            `json:"after,omitempty"`      // what the operation left; nil where it deleted it
	Foreign    bool              `json:"foreign,omitempty"`    // somebody else changed it while the operation ran
	Moved      int64             `json:"moved,omitempty"`      // of a directory: when the operation moved it first, in nanoseconds since 1970
	Touched    bool              `json:"touched,omitempty"`    // of a directory: the operation touched a name in it
	Written    bool              `json:"written,omitempty"`    // the operation opened it for writing
	Attributed bool              `json:"attributed,omitempty"` // the operation set attributes

	// Of a directory: the directory it was in when the operation met it first, and its name there. Parent is -1 for one
	// that the policy opens as a whole, whose name is an absolute path.
	Parent int     `json:"parent"`
	Name   rawText `json:"name,omitempty"`
	Before rawText `json:"before,omitempty"` // its path before the operation; empty for none
	Now    rawText `json:"now,omitempty"`    // its path after the operation; empty for none

	index            int
	mount            uint64
	tried            bool     // its contents were to be kept
	noted            bool     // it waits for the journal
	used             bool     // a call of the operation was about it
	known            *node    // of a directory: what it was when it was looked at last
	holder           *object  // of a directory: the directory that it was found in last; nil for one that the policy opens as a whole
	label            string   // its name there
	pinned           entryKey // of a directory of the operation's: its place when somebody else changed something in it
	temporary        bool     // of a directory: the operation created it, and undo keeps it
	whole            bool     // of a directory: all that is in it is the operation\'s
	attributesDiffer bool     // of a directory
	opens            int      // descriptors for writing that the operation has open
	last             int64    // change time after the last change that was seen to be the operation's; 0 for none
}

func newObject(n *node) *object {
	return &object{ID: n.ID, Mode: n.Mode, UID: n.UID, GID: n.GID, Links: n.Links, Size: n.Size, Modified: n.Modified,
		Changed: n.Changed, Parent: -1, known: n}
}

// setPlace notes where a directory was found.
func (o *object) setPlace(holder *object, name string) { o.holder, o.label = holder, name }

// lastPath returns the path at which a directory was found last.
func (o *object) lastPath() string {
	path := o.label
	for range maxDepth {
		if o = o.holder; o == nil {
			break
		}
		path = filepath.Join(o.label, path)
	}
	return path
}

// pinPlace notes the places of a directory and those above it that the operation created: somebody else changes something in
// it, so undo may need it there.
func (o *object) pinPlace() {
	for ; o.Created && o.holder != nil; o = o.holder {
		o.pinned = entryKey{o.holder, o.label}
	}
}

func (o *object) isDir() bool     { return o.Mode.IsDir() }
func (o *object) isRegular() bool { return o.Mode.IsRegular() }

// isUnmakeable reports whether the object is of a kind that undo can't make.
func (o *object) isUnmakeable() bool {
	return o.Mode&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0
}

// toMeta returns the metadata that the object had.
func (o *object) toMeta() workspace.FileMeta {
	m := workspace.FileMeta{Mode: o.Mode, Modified: time.Unix(0, o.Modified)}
	if o.UID != nobody && o.GID != nobody {
		m.Owner = &workspace.Owner{UID: o.UID, GID: o.GID}
	}
	if o.Attributes != nil {
		m.Attributes = make(map[string]string, len(o.Attributes))
		for name, value := range o.Attributes {
			m.Attributes[name] = string(value)
		}
	}
	return m
}

// entry is a name in a directory that an operation touched.
type entry struct {
	Dir     int     `json:"dir"` // an object; -1 where Name is an absolute path in a directory that is closed
	Name    rawText `json:"name"`
	Before  int     `json:"before"`            // the object that had the name before the operation; -1 for none
	After   int     `json:"after"`             // the object that has it after; -1 for none
	Foreign bool    `json:"foreign,omitempty"` // somebody else changed what was at the name: another entry has that

	current *object // what has the name now
	whole   bool    // all that is below is the operation's
	touched bool    // the operation touched the name since somebody else did

	opens   int     // descriptors for writing that the operation opened by the name
	pending []*call // calls of the operation with effects on the name that were not seen yet
}

// none stands for no object.
const none = -1

// rawText is a name or path, whatever bytes it has. JSON can only hold UTF-8: other names are written as base64 behind a
// NUL, which no name contains.
type rawText string

// MarshalJSON returns the text as JSON.
func (t rawText) MarshalJSON() ([]byte, error) {
	text := string(t)
	if !utf8.ValidString(text) || strings.HasPrefix(text, "\x00") {
		text = "\x00" + base64.StdEncoding.EncodeToString([]byte(text))
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads what MarshalJSON returned.
func (t *rawText) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if encoded, ok := strings.CutPrefix(text, "\x00"); ok {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return err
		}
		text = string(raw)
	}
	*t = rawText(text)
	return nil
}
