// Package takeback keeps what changes to files destroy, so that they can be taken back.
//
// A store is a directory of tar archives. Each operation has a folder of its own in one of them, named by its id: its
// first member, op.json, says what was done and how to undo it, and the others are what was there before. Nothing in it
// needs this program to be read: `tar xf` gives the bytes back. A process adds small operations to one archive, with a
// single write each, and gives a large one an archive of its own. Several processes may use one store.
//
// The store is bounded in size and age. It is written before the change that it is about, and not forced onto the
// disk: it survives a killed process, and a machine that loses power may lose its last entries, but no change.
//
// A tool says itself what it destroys ([Store.Begin]); of a command that is found out by a [Recorder], which keeps what
// is at a path before the first change to it. [Store.Undo] takes back what a recorder has seen. Both open files through
// the workspace only. The package must not know of policies or tools, or how changes are noticed.
package takeback

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The bounds of a store that sets none.
const (
	DefaultMaxBytes = 2 << 30
	DefaultMaxAge   = 30 * 24 * time.Hour
)

const (
	largestShare = 4       // the part of the whole that one operation may take is one in this many
	smallest     = 1 << 20 // bytes: an operation up to this shares its archive with others
	fullArchive  = 8 << 20 // bytes: an archive of several operations is no longer than that
	archiveShare = 8       // nor than this part of the whole, since it is deleted as one
	pruneEvery   = 256     // writes: after that many the bounds are looked at again
	suffix       = ".tar"
)

// Options say where a store is, and bound it.
type Options struct {
	Dir      string        `json:"dir"`                  // absolute; empty for no store
	MaxBytes int64         `json:"max_bytes,omitempty"`  // of all operations; DefaultMaxBytes if zero
	MaxAge   time.Duration `json:"max_age_ns,omitempty"` // of an operation; DefaultMaxAge if zero
}

// Store is a directory of operations. It may be used concurrently.
type Store struct {
	dir     string
	options Options
	pruning sync.WaitGroup

	mu      sync.Mutex
	last    int64    // the time in the latest id
	current *os.File // the archive for small operations; nil before the first
	size    int64
	writes  int
	added   int64 // bytes, since the bounds were looked at
}

// Open opens a store, whose directory is made if it is missing.
func Open(o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the store of changes: %w", err)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	return &Store{dir: o.Dir, options: o}, nil
}

// Close ends the journal's use by this process.
func (j *Store) Close() {
	j.pruning.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.current != nil {
		j.end()
	}
}

// MaxOperation is how many bytes one operation may keep.
func (j *Store) MaxOperation() int64 { return j.options.MaxBytes / largestShare }

// newID makes the id of an operation: the time, so that ids sort, and something random, so that processes differ.
func (j *Store) newID() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = max(time.Now().UnixNano(), j.last+1)
	at := time.Unix(0, j.last).UTC()
	return fmt.Sprintf("%s%09d-%s", at.Format("20060102T150405"), at.Nanosecond(), strings.ToLower(rand.Text()[:4]))
}

// create makes an archive that begins with an operation.
func (j *Store) create(id string) (*os.File, error) {
	return os.OpenFile(filepath.Join(j.dir, id+suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// add adds the members of a small operation to the current archive.
func (j *Store) add(id string, members []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.current != nil && j.size+int64(len(members)) > j.share() {
		j.end()
	}
	for {
		if j.current == nil {
			var err error
			if j.current, err = j.create(id); err != nil {
				return err
			}
			j.size = 0
		}
		n, err := j.current.Write(members)
		j.size += int64(n)
		j.count(int64(n))
		if err != nil {
			if n > 0 {
				j.end() // what comes after a torn member could not be read
			}
			return err
		}
		if _, err := os.Lstat(j.current.Name()); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// Another process, or a large operation of this one, has pruned the archive: what is written there is in no journal.
		j.end()
	}
}

// end ends the current archive.
func (j *Store) end() {
	_ = j.current.Close()
	j.current = nil
}
