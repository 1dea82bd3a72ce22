package undo

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// FileIdentity identifies a file, directory or symlink, even if a later one reuses its inode number. It is the file
// handle or, without handles, device, inode and, except on overlay file systems, birth time. It is empty on file systems that have neither.
type FileIdentity string

// fileStat is the stat result of a file, directory or symlink.
type fileStat struct {
	ID       FileIdentity
	Mode     fs.FileMode
	UID, GID int
	Links    uint64 // number of hard links
	Size     int64  // bytes
	Modified int64  // nanoseconds since 1970
	Changed  int64  // change time (ctime), nanoseconds since 1970; no program can set it
	Device   uint64 // of the file system; on btrfs, of the subvolume
	Mount    uint64 // mount ID or, where unknown, device; a rename works only within one mount
}

// afterState is the state of an object at the end of an operation. Undo compares it with the current state to detect
// later changes.
type afterState struct {
	Changed  int64  `json:"changed"`
	Modified int64  `json:"modified"`
	Size     int64  `json:"size"`
	Mode     uint32 `json:"mode"`
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	// Attributes are the extended attributes of a directory; nil if they are as before the operation.
	Attributes xattrs `json:"attributes,omitzero"`
	// Hash is the SHA-256 of the contents of a file that changed so recently that a later change could have the same
	// time.
	Hash string `json:"hash,omitempty"`
}

func (n *fileStat) toAfterState() *afterState {
	return &afterState{Changed: n.Changed, Modified: n.Modified, Size: n.Size, Mode: uint32(n.Mode), UID: n.UID, GID: n.GID}
}

// nobody is the user id that a sandbox shows for unmapped owners.
const nobody = 65534

// fileObject is a file, directory or symlink that an operation touched, with its state before the operation.
type fileObject struct {
	ID         FileIdentity `json:"id"`
	Mode       fs.FileMode  `json:"mode"`
	UID        int          `json:"uid"`
	GID        int          `json:"gid"`
	Links      uint64       `json:"links,omitempty"`
	Size       int64        `json:"size,omitempty"`
	Modified   int64        `json:"modified"`
	Changed    int64        `json:"changed"`
	Attributes xattrs       `json:"attributes,omitzero"`
	Target     rawName      `json:"target,omitempty"`     // of a symbolic link
	Created    bool         `json:"created,omitempty"`    // by the operation
	Content    int          `json:"content,omitempty"`    // number of the archive member with the contents; 0 for none
	Prefix     bool         `json:"prefix,omitempty"`     // the former contents are the first Size bytes of the current contents
	After      *afterState  `json:"after,omitempty"`      // state after the operation; nil if the operation deleted it
	Foreign    bool         `json:"foreign,omitempty"`    // another program changed it while the operation ran
	Moved      int64        `json:"moved,omitempty"`      // of a directory: time of the operation's first move, in nanoseconds since 1970
	Touched    bool         `json:"touched,omitempty"`    // of a directory: the operation touched a name in it
	Written    bool         `json:"written,omitempty"`    // the operation opened it for writing
	Shared     bool         `json:"shared,omitempty"`     // another program had it open for writing at the end
	Attributed bool         `json:"attributed,omitempty"` // the operation set attributes

	// Of a directory: the parent and name when the operation first touched it. Parent is -1 for a directory that the
	// policy opens as a whole; its Name is an absolute path.
	Parent int     `json:"parent"`
	Name   rawName `json:"name,omitempty"`
	Before rawName `json:"before,omitempty"` // its path before the operation; empty for none
	Now    rawName `json:"now,omitempty"`    // its path after the operation; empty for none

	index     int
	mount     uint64
	tried     bool        // keepContents was called for it
	noted     bool        // it is queued for the journal
	used      bool        // a call of the operation used it
	known     *fileStat   // of a directory: its last stat result
	holder    *fileObject // of a directory: its last known parent; nil for a directory that the policy opens as a whole
	label     string      // its name in holder
	pinned    dirEntryKey // of a created directory: its name when another program changed something in it
	temporary bool        // of a directory: the operation created it, and undo must keep it
	removed   bool        // of a directory: another program deleted it or moved it away
	whole     bool        // of a directory: everything in it belongs to the operation
	opens     int         // descriptors for writing that the operation has open
	nameless  bool        // it had no name when the operation created it: no event tells of changes by its descriptor
	last      int64       // change time after the operation's last observed change; 0 if unknown
}

func newObject(n *fileStat) *fileObject {
	return &fileObject{ID: n.ID, Mode: n.Mode, UID: n.UID, GID: n.GID, Links: n.Links, Size: n.Size, Modified: n.Modified,
		Changed: n.Changed, Parent: -1, known: n}
}

// setParent notes the parent and name of a directory.
func (o *fileObject) setParent(holder *fileObject, name string) { o.holder, o.label = holder, name }

// lastPath returns the last known path of a directory.
func (o *fileObject) lastPath() string {
	var labels []string
	for ; o != nil && len(labels) <= maxDepth; o = o.holder {
		labels = append(labels, o.label)
	}
	slices.Reverse(labels)
	return filepath.Join(labels...)
}

// recordParentNames records the names of a created directory and its created parents. Undo may need them, because
// another program changed something in the directory.
func (o *fileObject) recordParentNames() {
	for ; o.Created && o.holder != nil; o = o.holder {
		o.pinned = dirEntryKey{o.holder, o.label}
	}
}

func (o *fileObject) isDir() bool     { return o.Mode.IsDir() }
func (o *fileObject) isRegular() bool { return o.Mode.IsRegular() }

// isUnrestorable reports whether undo can't recreate this kind of file, such as a device or a socket.
func (o *fileObject) isUnrestorable() bool {
	return o.Mode&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0
}

// toFileMeta returns the metadata from before the operation.
func (o *fileObject) toFileMeta() workspace.FileMeta {
	m := workspace.FileMeta{Mode: o.Mode, Modified: time.Unix(0, o.Modified)}
	if o.UID != nobody && o.GID != nobody {
		m.Owner = &workspace.OwnerIDs{UID: o.UID, GID: o.GID}
	}
	if o.Attributes != nil {
		m.Attributes = make(map[string]string, len(o.Attributes))
		for name, value := range o.Attributes {
			m.Attributes[name] = string(value)
		}
	}
	return m
}

// entryChange is a name in a directory that an operation touched, with the objects at that name before and after.
type entryChange struct {
	Dir     int     `json:"dir"` // index of the directory; -1 if Name is an absolute path whose directory the policy does not open
	Name    rawName `json:"name"`
	Before  int     `json:"before"`            // index of the object at the name before the operation; -1 for none
	After   int     `json:"after"`             // index of the object at the name after the operation; -1 for none
	Foreign bool    `json:"foreign,omitempty"` // another program changed the name: a second entry has its new state

	current *fileObject // object at the name now
	whole   bool        // everything below belongs to the operation
	touched bool        // the operation touched the name after the last foreign change

	opens   int               // descriptors for writing that the operation opened through this name
	pending []*pendingSyscall // calls of the operation whose effect on the name is not yet observed
}

// none is the index that means no object.
const none = -1

// rawName is a name or path of any bytes. Names that are not UTF-8 are stored in JSON as NUL and base64; no name
// contains NUL.
type rawName string

// MarshalJSON encodes the text as a JSON string.
func (t rawName) MarshalJSON() ([]byte, error) {
	text := string(t)
	if !utf8.ValidString(text) || strings.HasPrefix(text, "\x00") {
		text = "\x00" + base64.StdEncoding.EncodeToString([]byte(text))
	}
	return json.Marshal(text)
}

// UnmarshalJSON decodes a string from MarshalJSON.
func (t *rawName) UnmarshalJSON(data []byte) error {
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
	*t = rawName(text)
	return nil
}
