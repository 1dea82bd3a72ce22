package journal

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
)

// The bounds of a journal that sets none.
const (
	DefaultMaxBytes = 256 << 20
	DefaultMaxAge   = 30 * 24 * time.Hour
)

// largestShare is the part of the whole that one operation may take.
const largestShare = 4

// suffix ends the names of complete operations.
const suffix = ".tar"

// pruneEvery is after how many operations the bounds are looked at again.
const pruneEvery = 32

// Options bound a journal.
type Options struct {
	MaxBytes int64         // of all operations; DefaultMaxBytes if zero
	MaxAge   time.Duration // of an operation; DefaultMaxAge if zero
}

// Journal is a directory of operations. It may be used concurrently.
type Journal struct {
	dir     string
	options Options

	mu      sync.Mutex
	written int
	pruning sync.WaitGroup
	last    int64
}

// Open opens the journal in a directory, which is made if it is missing.
func Open(dir string, o Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	return &Journal{dir: dir, options: o}, nil
}

// Close waits for what the journal does beside the calls.
func (j *Journal) Close() { j.pruning.Wait() }

// MaxOperation is how many bytes one operation may keep.
func (j *Journal) MaxOperation() int64 { return j.options.MaxBytes / largestShare }

// newID makes the id of an operation: the time, so that ids sort, and something random, so that processes differ.
func (j *Journal) newID(now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	nano := max(now.UnixNano(), j.last+1)
	j.last = nano
	at := time.Unix(0, nano).UTC()
	return fmt.Sprintf("%s%09d-%s", at.Format("20060102T150405"), at.Nanosecond(), strings.ToLower(rand.Text()[:4]))
}

// ids returns the ids of all operations, the newest first.
func (j *Journal) ids() ([]string, error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range slices.Backward(entries) {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (j *Journal) path(id string) string { return filepath.Join(j.dir, id+suffix) }

// wrote counts an operation, and looks at the bounds now and then, beside the calls.
func (j *Journal) wrote() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.written++; j.written%pruneEvery == 1 {
		j.pruning.Go(j.prune)
	}
}

// prune deletes the oldest operations until the journal is within its bounds.
func (j *Journal) prune() {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return
	}
	oldest := time.Now().Add(-j.options.MaxAge)
	total := int64(0)
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !info.Mode().IsRegular() {
			continue
		}
		if total += info.Size(); total > j.options.MaxBytes || info.ModTime().Before(oldest) {
			_ = os.Remove(filepath.Join(j.dir, e.Name()))
		}
	}
}
