// Package versions identifies contents by etags and stores the contents that an agent has read, so that a conflict
// error can show a diff.
//
// It must not know of paths or tools.
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
	maxContentBytes  = 256 << 10 // bytes of one stored content
	maxTotalBytes    = 8 << 20   // bytes of all stored contents
	maxSavedContents = 64        // contents saved for the next process
	etagSize         = 16
)

// ComputeEtag returns a hash that identifies contents. It is not cryptographic: collisions can be made on purpose.
func ComputeEtag(data []byte) string { return formatEtag(xxh3.Hash(data)) }

// ComputeStringEtag is like ComputeEtag for a string.
func ComputeStringEtag(data string) string { return formatEtag(xxh3.HashString(data)) }

// EtagHasher is a writer that computes the etag of the contents written to it.
type EtagHasher struct{ h *xxh3.Hasher }

// NewEtagHasher returns a hash without contents.
func NewEtagHasher() EtagHasher { return EtagHasher{xxh3.New()} }

func (h EtagHasher) Write(p []byte) (int, error) { return h.h.Write(p) }

// Etag returns the etag of the contents written so far.
func (h EtagHasher) Etag() string { return formatEtag(h.h.Sum64()) }

func formatEtag(sum uint64) string { return fmt.Sprintf("%0*x", etagSize, sum) }

// ComputeReaderEtag returns the etag of the contents of a reader.
func ComputeReaderEtag(r io.Reader) (string, error) {
	h := NewEtagHasher()
	_, err := io.Copy(h, r)
	return h.Etag(), err
}

// SeenContentStore stores contents that an agent has read, in memory and for the next process. Use may be concurrent.
type SeenContentStore struct {
	dir string // "" for memory only

	mu    sync.Mutex
	bytes int
	order []string // the oldest first
	data  map[string]string
}

// OpenSeenContents returns a store with a directory, which may be missing. An empty name means memory only.
func OpenSeenContents(dir string) *SeenContentStore {
	return &SeenContentStore{dir: dir, data: map[string]string{}}
}

// Add stores contents under their etag.
func (s *SeenContentStore) Add(etag, data string) {
	if len(data) > maxContentBytes {
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
	for s.bytes += len(data); s.bytes > maxTotalBytes; {
		oldest := s.order[0]
		s.bytes -= len(s.data[oldest])
		delete(s.data, oldest)
		s.order = s.order[1:]
	}
}

var etagPattern = lazyregexp.New(`^[0-9a-f]{16}$`)

// IsEtag reports whether a string has the form of an etag by ComputeEtag.
func IsEtag(s string) bool { return etagPattern().MatchString(s) }

// Get returns the contents with an etag, if they are stored.
func (s *SeenContentStore) Get(etag string) (data string, ok bool) {
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
	return string(saved), err == nil && ComputeEtag(saved) == etag
}

// Save writes the contents to the directory, and deletes the oldest ones in it.
func (s *SeenContentStore) Save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || len(s.order) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	var failed error
	for _, etag := range s.order[max(0, len(s.order)-maxSavedContents):] {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(s.dir, etag), []byte(s.data[etag]), 0o600))
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) <= maxSavedContents {
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
	for _, e := range entries[:len(entries)-maxSavedContents] {
		_ = os.Remove(filepath.Join(s.dir, e.Name()))
	}
	return failed
}
