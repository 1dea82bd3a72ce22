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

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// List is what a recorded operation has changed, with the archive that keeps what was there before.
type List struct {
	Op      *Op
	Entries []*Entry

	archive *os.File
	files   map[string]*Entry // those whose contents are kept, by their paths; nil before one is asked for
}

// List opens the list of a recorded operation. The list of one whose end was not seen is made from what it kept and
// what is there now: then no entry has an After. Close it when done.
func (j *Store) List(op *Op, files *workspace.Workspace) (*List, error) {
	if !idPattern().MatchString(op.ID) {
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
	if op.Changes == nil {
		l.expand(files)
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
		if l.files == nil {
			l.files = map[string]*Entry{}
			for _, o := range l.Entries {
				if o.Kind == File && o.Same == "" {
					l.files[o.Path] = o
				}
			}
		}
		other := l.files[e.Same]
		if other == nil {
			return nil, fmt.Errorf("it was the same file as %s, which is not kept", e.Same)
		}
		e = other
	}
	return io.NewSectionReader(l.archive, e.At, e.Size), nil
}

// expand lists what is in the directories that were made, for an operation whose end was not seen.
func (l *List) expand(w *workspace.Workspace) {
	known := map[string]bool{}
	for _, e := range l.Entries {
		known[e.Path], known[e.Now] = true, true
	}
	for _, made := range slices.Clone(l.Entries) {
		if made.Kind != Made {
			continue
		}
		_ = w.Look(guard.Write, made.Path, func(t *workspace.Tree) error { // what is not there any more is no matter
			return t.Walk(func(e *workspace.Entry) error {
				if at := filepath.Join(made.Path, filepath.FromSlash(e.Name)); !known[at] {
					l.Entries = append(l.Entries, &Entry{Kind: Made, Path: at})
				}
				return nil
			})
		})
	}
}
