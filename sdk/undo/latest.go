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

// The file latest lists the ids of the latest operations. It reveals operations whose archive is lost or could not be
// written, so that undo does not take an older operation for the latest. The file has its full size from the start and
// can be updated on a full disk. Invalid lines are ignored.
const (
	latestName  = "latest"
	maxLatest   = 256
	idLength    = len("20061121T051354282482850-fzaj")
	latestBytes = maxLatest * (idLength + 1)
)

// prepareLatestFile creates the file latest from the archives in the store, if it is missing.
func (s *Store) prepareLatestFile() error {
	file, err := s.openLatestFile()
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
	_ = writeLatestIDs(file, append(readLatestIDs(file), ids...)) // as above
	return nil
}

func (s *Store) openLatestFile() (*os.File, error) {
	return filelock.OpenLocked(filepath.Join(s.dir, latestName), filelock.LockWaiting)
}

// addLatestID adds the id of an ended operation to the file latest.
func (s *Store) addLatestID(id string) {
	if file, err := s.openLatestFile(); err == nil {
		_ = writeLatestIDs(file, append(readLatestIDs(file), id))
		_ = file.Close()
	}
}

// hasEnded reports whether the file latest lists an operation, which happens at its end.
func (s *Store) hasEnded(id string) bool {
	file, err := s.openLatestFile()
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return slices.Contains(readLatestIDs(file), id)
}

// listLostIDs returns ids in the file latest that have no archive. It excludes pruned operations: they are older than
// all archives or older than the maximum age.
func (s *Store) listLostIDs(ids []string) (lost []string, err error) {
	file, err := s.openLatestFile()
	if err != nil {
		return nil, fmt.Errorf("read the undo store: %w", err)
	}
	defer func() { _ = file.Close() }()
	oldest := time.Now().Add(-s.options.MaxAge).UTC().Format(idTime)
	if len(ids) > 0 {
		oldest = max(oldest, ids[len(ids)-1])
	}
	for _, id := range readLatestIDs(file) {
		if id > oldest && !slices.Contains(ids, id) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// HasPruned reports whether the store lately deleted operations to stay within its bounds.
func (s *Store) HasPruned() bool {
	ids, err := s.listIDs()
	if err != nil {
		return false
	}
	file, err := s.openLatestFile()
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return slices.ContainsFunc(readLatestIDs(file), func(id string) bool { return len(ids) == 0 || id < ids[len(ids)-1] })
}

// readLatestIDs returns the valid ids in the file latest.
func readLatestIDs(file *os.File) (ids []string) {
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

// writeLatestIDs overwrites the file latest with the newest of the ids.
func writeLatestIDs(file *os.File, ids []string) error {
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
