// Package undo records the changes of an operation to files, and restores the former files.
//
// A [Recorder] receives each change before it is made. It keeps what the change destroys: the object at a name, with
// contents and metadata. The record of an operation has two lists. Entries are names in directories with the object
// before and after. Objects are files, directories and symlinks with their state before and after. Objects are
// distinguished by identity (see [FileIdentity]) and not by path, so a rename is two entries.
//
// [Store.Undo] gives each name its former object back, if name and object are as the operation left them. A name or
// object that another program changed since, or during the operation, is a conflict: Undo reports it and does not
// change it.
//
// A store is a directory with one tar archive for each operation; `tar xf` extracts the kept contents. Archives are
// written before the change and not synced, so they survive a killed process. Several processes may use one store.
//
// All files are opened through the workspace, which applies the policy. The package must not know of policies, tools,
// or how changes are detected.
package undo

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Default bounds of a store.
const (
	DefaultMaxBytes = 2 << 30
	DefaultMaxAge   = 30 * 24 * time.Hour
)

const (
	operationShare = 4 // one operation may take one part in this many of a store
	pruneInterval  = 256
	maxArchives    = 20_000
	suffix         = ".tar"
)

// StoreOptions are the directory and the bounds of a store.
type StoreOptions struct {
	Dir      string        `json:"dir"`                  // absolute; empty for no store
	MaxBytes int64         `json:"max_bytes,omitempty"`  // of all operations; DefaultMaxBytes if zero
	MaxAge   time.Duration `json:"max_age_ns,omitempty"` // of an operation; DefaultMaxAge if zero
}

// Store is a directory of archives, one for each operation. It is safe for concurrent use.
type Store struct {
	dir     string
	options StoreOptions
	pruning sync.WaitGroup

	mu    sync.Mutex
	last  int64 // the time in the latest id
	count int   // archives written by this process
	bytes int64 // written since the last pruning
}

// Open opens a store and creates its directory if needed.
func Open(o StoreOptions) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the undo store: %w", err)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	s := &Store{dir: o.Dir, options: o}
	return s, s.prepareLatestFile()
}

// Close waits for pruning to finish.
func (s *Store) Close() { s.pruning.Wait() }

// MaxOperationBytes returns the maximum number of bytes that one operation may keep.
func (s *Store) MaxOperationBytes() int64 { return s.options.MaxBytes / operationShare }

// newOperationID returns a new operation id. It begins with the time, so that ids sort, and ends with random letters,
// so that ids of several processes differ.
func (s *Store) newOperationID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(time.Now().UnixNano(), s.last+1)
	at := time.Unix(0, s.last).UTC()
	return fmt.Sprintf("%s%09d-%s", at.Format(idTime), at.Nanosecond(), strings.ToLower(rand.Text()[:4]))
}

// idTime is the time layout at the start of an id.
const idTime = "20060102T150405"

// timeOfID returns the start time of an operation from its id, to the second.
func timeOfID(id string) time.Time {
	at, _ := time.Parse(idTime, id[:min(len(id), len(idTime))])
	return at
}

var idPattern = lazyregexp.New(`^\d{8}T\d{15}-[a-z0-9]{4}$`)

func (s *Store) archivePath(id string) string { return filepath.Join(s.dir, id+suffix) }

// countArchiveAndPrune counts a written archive, and sometimes starts pruning in the background.
func (s *Store) countArchiveAndPrune(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.bytes += bytes; s.bytes > s.options.MaxBytes/8 || s.count%pruneInterval == 1 {
		s.bytes = 0
		s.pruning.Go(s.pruneArchives)
	}
}

// pruneArchives deletes the oldest archives until the store is within its bounds. It leaves room for writes before the
// next pruning.
func (s *Store) pruneArchives() {
	ids, err := s.listIDs()
	if err != nil {
		return
	}
	oldest, total := time.Now().Add(-s.options.MaxAge), int64(0)
	var pruned []string
	for i, id := range ids {
		info, err := os.Lstat(s.archivePath(id))
		if err != nil {
			continue
		}
		total += info.Size()
		if i > 0 && (total > s.options.MaxBytes*7/8 || i >= maxArchives) || info.ModTime().Before(oldest) {
			pruned = append(pruned, id)
		}
	}
	if len(pruned) == 0 {
		return
	}
	s.updateLatestList(func(l *latestList) { l.pruned = max(l.pruned, pruned[0][:idLength-1]) })
	for _, id := range pruned {
		_ = os.Remove(s.archivePath(id))
	}
}

// listIDs returns the ids of all archives, newest first.
func (s *Store) listIDs() ([]string, error) {
	dir, err := os.Open(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read the undo store: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("read the undo store: %w", err)
	}
	ids := names[:0]
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, suffix); ok && idPattern().MatchString(id) {
			ids = append(ids, id)
		}
	}
	sortNewestFirst(ids)
	return ids, nil
}

func sortNewestFirst(ids []string) {
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
}

// UnknownOperationError is the error for an operation that is not in the store.
type UnknownOperationError struct{ ID string }

func (e *UnknownOperationError) Error() string {
	return fmt.Sprintf("there is no operation %s; history lists operations", e.ID)
}

// EachOperation calls fn for operations, newest first, until fn returns false. If the archive of an operation is lost
// or unreadable, the Missing field says so.
func (s *Store) EachOperation(fn func(*Operation) bool) error {
	ids, err := s.listIDs()
	if err != nil {
		return err
	}
	lost, err := s.listLostIDs(ids)
	if err != nil {
		return err
	}
	ids = append(ids, lost...)
	sortNewestFirst(ids)
	for _, id := range ids {
		op, err := s.ReadOperation(id)
		unknown := (*UnknownOperationError)(nil)
		switch {
		case errors.As(err, &unknown) && !slices.Contains(lost, id):
			continue // pruned meanwhile
		case errors.As(err, &unknown):
			op = &Operation{ID: id, Time: timeOfID(id), Summary: "an operation without an archive",
				Missing: fmt.Sprintf("%s was deleted, could not be written when the disk was full, or was never made, if %s was damaged",
					s.archivePath(id), filepath.Join(s.dir, latestName))}
		case err != nil:
			op = &Operation{ID: id, Time: timeOfID(id), Summary: "an unreadable archive", Missing: err.Error()}
		}
		if !op.leftFilesUnchanged() && !fn(op) {
			return nil
		}
	}
	return nil
}

// ReadOperation returns the operation with an id.
func (s *Store) ReadOperation(id string) (*Operation, error) {
	f, op, err := s.openArchive(id)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	return &op.Operation, nil
}

// openArchive opens the archive of an operation and reads its trailer.
func (s *Store) openArchive(id string) (*os.File, *archiveTrailer, error) {
	if !idPattern().MatchString(id) {
		return nil, nil, &UnknownOperationError{id}
	}
	f, err := os.OpenFile(s.archivePath(id), os.O_RDONLY|filelock.NonBlock|filelock.NoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &UnknownOperationError{id}
	}
	if err != nil {
		return nil, nil, newDamagedArchiveError(s.archivePath(id), "it can't be opened: "+stripErrorPath(err).Error())
	}
	op, err := readOperation(f, id)
	if err == nil && op.IsUnfinished() && s.hasEnded(id) {
		err = newDamagedArchiveError(f.Name(), "its end is missing")
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, op, nil
}
