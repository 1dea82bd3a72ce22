package takeback

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// idPattern is what an id looks like.
var idPattern = lazyregexp.New(`^[0-9]{8}T[0-9]{15}-[a-z0-9]{4}$`)

// maxOpSize bounds the description of one operation, in bytes.
const maxOpSize = 8 << 20

// clockStep is how much later than its last operation the time of an archive may be.
const clockStep = 2 * time.Second

// Unknown is the error for an operation that is not in the journal.
type Unknown struct{ ID string }

func (e *Unknown) Error() string {
	return fmt.Sprintf("the journal has no operation %q; history lists those it has", e.ID)
}

// Each calls fn with the operations that took place, the newest first, until it returns false.
func (j *Store) Each(fn func(*Op) bool) error {
	all, err := j.archives()
	if err != nil {
		return err
	}
	var waiting []*Op // read, and perhaps older than what the next archive has
	dropped := map[string]bool{}
	emit := func(newerThan time.Time) bool {
		slices.SortFunc(waiting, func(a, b *Op) int { return strings.Compare(b.ID, a.ID) })
		for len(waiting) > 0 && waiting[0].Time.After(newerThan) {
			op := waiting[0]
			waiting = waiting[1:]
			if !dropped[op.ID] && !fn(op) {
				return false
			}
		}
		return true
	}
	for i, a := range all {
		if err := scan(a.path, func(h *tar.Header, contents io.Reader) error {
			switch id, rest, _ := strings.Cut(path.Clean(h.Name), "/"); rest {
			case opMember:
				op := decode(id, h, contents)
				if n := len(waiting); op != nil && n > 0 && waiting[n-1].ID == id {
					waiting[n-1] = op // its end, which says more than its beginning
				} else if op != nil {
					waiting = append(waiting, op)
				}
			case droppedMember:
				dropped[id] = true
			}
			return nil
		}); err != nil {
			return err
		}
		if i+1 < len(all) && !emit(all[i+1].info.ModTime().Add(clockStep)) {
			return nil
		}
	}
	emit(time.Time{})
	return nil
}

func decode(id string, h *tar.Header, contents io.Reader) *Op {
	var op Op
	if !idPattern().MatchString(id) || h.Size > maxOpSize || json.NewDecoder(contents).Decode(&op) != nil {
		return nil
	}
	op.ID = id
	return &op
}

// scan calls fn with the members of an archive, as far as they are whole: its process may have been killed in the
// middle of one. An archive that was deleted meanwhile is empty.
func scan(name string, fn func(*tar.Header, io.Reader) error) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	members := tar.NewReader(newSkipping(f))
	for {
		h, err := members.Next()
		if err != nil {
			return nil //nolint:nilerr // the end, or where a killed process stopped
		}
		if err := fn(h, members); err != nil {
			return err
		}
	}
}

var errFound = errors.New("found")

// Op returns an operation.
func (j *Store) Op(id string) (op *Op, err error) {
	err = j.members(id, func(rest string, h *tar.Header, contents io.Reader) error {
		if rest != opMember {
			return nil
		}
		if op = decode(id, h, contents); op != nil && op.Recorded && op.Changes == nil {
			return nil // its beginning; its end says more
		}
		return errFound
	})
	if err == nil && op == nil {
		err = &Unknown{id}
	}
	return op, err
}

// members calls fn with the members of one operation, named below its folder.
func (j *Store) members(id string, fn func(rest string, h *tar.Header, contents io.Reader) error) error {
	if !idPattern().MatchString(id) {
		return &Unknown{id}
	}
	all, err := j.archives()
	if err != nil {
		return err
	}
	for _, a := range all {
		if strings.TrimSuffix(filepath.Base(a.path), suffix) > id {
			continue // it was begun later
		}
		found := false
		err := scan(a.path, func(h *tar.Header, contents io.Reader) error {
			rest, ok := strings.CutPrefix(path.Clean(h.Name), id+"/")
			if !ok {
				if found {
					return errFound // the next operation
				}
				return nil
			}
			found = true
			return fn(rest, h, contents)
		})
		if err != nil && !errors.Is(err, errFound) {
			return err
		}
		if found {
			return nil
		}
	}
	return &Unknown{id}
}

// Kept is something that an operation kept.
type Kept struct {
	Name     string // relative to the blob, "." for the blob itself
	Header   *tar.Header
	Contents io.Reader // of a regular file
	First    string    // of a file that was kept before under another name: that name
}

// Attributes returns the extended attributes that were kept with it, by name.
func (k Kept) Attributes() map[string]string {
	var all map[string]string
	for record, value := range k.Header.PAXRecords {
		if name, ok := strings.CutPrefix(record, attributePrefix); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = value
		}
	}
	return all
}

// Blob calls fn with everything that was kept under a name, directories before their contents.
func (j *Store) Blob(id, blob string, fn func(Kept) error) error {
	return j.members(id, func(rest string, h *tar.Header, contents io.Reader) error {
		name, ok := strings.CutPrefix(rest+"/", blob+"/")
		if !ok {
			return nil
		}
		k := Kept{Name: path.Join(".", name), Header: h, Contents: contents}
		if first, ok := strings.CutPrefix(path.Clean(h.Linkname), path.Join(id, blob)+"/"); ok && h.Typeflag == tar.TypeLink {
			k.First = first
		}
		return fn(k)
	})
}
