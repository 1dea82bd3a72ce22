package undo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// The file latest has the ids of the latest operations, so that an operation is known whose archive is lost or could not
// be written: undo must not take an older one for the latest. The file has its full size from the start, and takes an id
// on a full disk. Lines that are no ids are ignored: archives that are there need none.
const (
	latestName  = "latest"
	maxLatest   = 256
	idLength    = len("20061121T051354282482850-fzaj")
	latestBytes = maxLatest * (idLength + 1)
)

// prepareLatest creates the file with the operations of the store.
func (s *Store) prepareLatest() error {
	file, err := s.openLatest()
	if err != nil {
		if _, missing := os.Lstat(filepath.Join(s.dir, latestName)); missing != nil {
			return nil // the disk is full, and the next process tries again
		}
		return fmt.Errorf("open the undo store: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || info.Size() == int64(latestBytes) {
		return err
	}
	ids, err := s.listIDs()
	if err != nil {
		return err
	}
	_ = writeLatest(file, append(readLatest(file), ids...)) // as above
	return nil
}

func (s *Store) openLatest() (*os.File, error) {
	return filelock.Open(filepath.Join(s.dir, latestName), filelock.Wait)
}

// remember adds the id of an operation that has ended.
func (s *Store) remember(id string) {
	if file, err := s.openLatest(); err == nil {
		_ = writeLatest(file, append(readLatest(file), id))
		_ = file.Close()
	}
}

// lost returns the latest operations that have no archive, but for those that were pruned: they are older than all
// archives, or too old.
func (s *Store) lost(ids []string) (lost []string, err error) {
	file, err := s.openLatest()
	if err != nil {
		return nil, fmt.Errorf("read the undo store: %w", err)
	}
	defer func() { _ = file.Close() }()
	oldest := time.Now().Add(-s.options.MaxAge).UTC().Format(idTime)
	if len(ids) > 0 {
		oldest = max(oldest, ids[len(ids)-1])
	}
	for _, id := range readLatest(file) {
		if id > oldest && !slices.Contains(ids, id) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// readLatest returns the ids in the file.
func readLatest(file *os.File) (ids []string) {
	text := make([]byte, latestBytes)
	n, err := file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	for line := range slices.Chunk(text[:n], idLength+1) {
		if id := string(line[:min(len(line), idLength)]); idPattern().MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// writeLatest writes the newest ids in place.
func writeLatest(file *os.File, ids []string) error {
	sortNewestFirst(ids)
	ids = slices.Compact(ids)
	text := make([]byte, latestBytes)
	for i := range text {
		text[i] = '\n'
	}
	for i, id := range ids[:min(len(ids), maxLatest)] {
		copy(text[i*(idLength+1):], id)
	}
	_, err := file.WriteAt(text, 0)
	return err
}
