package takeback

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// List is what a recorded operation has changed, with the archive that keeps what was there before.
type List struct {
	Op      *Op
	Entries []*Entry

	archive *os.File
}

// List opens the list of a recorded operation. The list of one whose end was not seen is made from what it kept: then
// no entry has an After. Close it when done.
func (j *Store) List(op *Op) (*List, error) {
	if !idPattern.MatchString(op.ID) {
		return nil, &Unknown{op.ID}
	}
	f, err := os.Open(filepath.Join(j.dir, op.ID+suffix))
	if err != nil {
		return nil, &Unknown{op.ID}
	}
	l := &List{Op: op, archive: f}
	if err := l.read(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read the store of changes: %w", err)
	}
	return l, nil
}

// Close closes the archive.
func (l *List) Close() { _ = l.archive.Close() }

func (l *List) read() error {
	at := newSkipping(l.archive)
	members := tar.NewReader(at)
	kept := map[string]int{} // where an entry stands in the list, by kind and path
	for {
		h, err := members.Next()
		if err != nil {
			return nil //nolint:nilerr // the end, or where a killed process stopped
		}
		rest, ok := strings.CutPrefix(path.Clean(h.Name), l.Op.ID+"/")
		if !ok {
			continue
		}
		if rest == listMember {
			return l.decode(members)
		}
		e := entryOf(rest, h, at.offset)
		if e == nil {
			continue
		}
		key := e.Path
		if e.Kind == Made || e.Kind == Moved {
			key = string(e.Kind) + key
		}
		if i, ok := kept[key]; ok {
			l.Entries[i] = e // what it was was kept before its contents were, or it was moved on
			continue
		}
		kept[key] = len(l.Entries)
		l.Entries = append(l.Entries, e)
	}
}

// decode reads the list that ends an operation.
func (l *List) decode(from io.Reader) error {
	l.Entries = nil
	lines := json.NewDecoder(from)
	for {
		e := new(Entry)
		err := lines.Decode(e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		l.Entries = append(l.Entries, e)
	}
}

// contents are those of a file that is kept.
func (l *List) contents(e *Entry) (io.Reader, error) {
	if e.Same != "" {
		i := slices.IndexFunc(l.Entries, func(o *Entry) bool { return o.Path == e.Same && o.Kind == File && o.Same == "" })
		if i < 0 {
			return nil, fmt.Errorf("it was the same file as %s, which is not kept", e.Same)
		}
		e = l.Entries[i]
	}
	return io.NewSectionReader(l.archive, e.At, e.Size), nil
}
