// Package versions identifies contents by etags and remembers the ones that a caller has seen, so that a conflict can
// be answered with what has changed since.
//
// It must not know of paths or tools: contents are contents wherever they are.
package versions

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

const (
	largest  = 256 << 10 // the longest contents that are remembered, in bytes
	total    = 8 << 20   // of all that are remembered, in bytes
	onDisk   = 64        // how many are remembered from one process to the next
	etagSize = 16
)

// Etag identifies contents: different contents have different etags, for all practical purposes. It is not meant to
// withstand somebody who makes contents for that.
func Etag(data []byte) string { return format(xxh3.Hash(data)) }

// EtagString is Etag for contents that are a string.
func EtagString(data string) string { return format(xxh3.HashString(data)) }

// Hash makes the etag of contents that are written to it.
type Hash struct{ h *xxh3.Hasher }

// NewHash returns an empty hash.
func NewHash() Hash { return Hash{xxh3.New()} }

func (h Hash) Write(p []byte) (int, error) { return h.h.Write(p) }

// Etag returns the etag of all that was written.
func (h Hash) Etag() string { return format(h.h.Sum64()) }

func format(sum uint64) string { return fmt.Sprintf("%0*x", etagSize, sum) }

// EtagOf returns the etag of what a reader gives.
func EtagOf(r io.Reader) (string, error) {
	h := NewHash()
	_, err := io.Copy(h, r)
	return h.Etag(), err
}

// Seen remembers contents, the latest ones, in memory and between two processes in a directory. It may be used
// concurrently.
type Seen struct {
	dir string // "" for memory only

	mu    sync.Mutex
	bytes int
	order []string // the oldest first
	data  map[string]string
}

// Open remembers in a directory, which may be missing; an empty name is for memory only.
func Open(dir string) *Seen { return &Seen{dir: dir, data: map[string]string{}} }

// Add remembers contents.
func (s *Seen) Add(etag, data string) {
	if len(data) > largest {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.data[etag]; ok {
		at := slices.Index(s.order, etag)
		s.order = append(slices.Delete(s.order, at, at+1), etag)
		return
	}
	s.data[etag] = data
	s.order = append(s.order, etag)
	for s.bytes += len(data); s.bytes > total; {
		oldest := s.order[0]
		s.bytes -= len(s.data[oldest])
		delete(s.data, oldest)
		s.order = s.order[1:]
	}
}

var etagPattern = lazyregexp.New(`^[0-9a-f]{16}$`)

// IsEtag reports whether a text is one that Etag could have returned.
func IsEtag(s string) bool { return etagPattern().MatchString(s) }

// Get returns contents that were seen.
func (s *Seen) Get(etag string) (data string, ok bool) {
	if !IsEtag(etag) {
		return "", false
	}
	s.mu.Lock()
	data, ok = s.data[etag]
	s.mu.Unlock()
	if ok || s.dir == "" {
		return data, ok
	}
	saved, err := os.ReadFile(filepath.Join(s.dir, etag))
	return string(saved), err == nil && Etag(saved) == etag
}

// Save writes what was seen for the next process, and deletes what many others have been seen since.
func (s *Seen) Save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || len(s.order) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	var failed error
	for _, etag := range s.order[max(0, len(s.order)-onDisk):] {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(s.dir, etag), []byte(s.data[etag]), 0o600))
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) <= onDisk {
		return errors.Join(failed, err)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		x, errX := a.Info()
		y, errY := b.Info()
		if errX != nil || errY != nil {
			return 0
		}
		return x.ModTime().Compare(y.ModTime())
	})
	for _, e := range entries[:len(entries)-onDisk] {
		_ = os.Remove(filepath.Join(s.dir, e.Name()))
	}
	return failed
}
