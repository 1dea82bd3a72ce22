package undo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// The file latest lists the ids of the latest operations. It reveals operations whose archive is lost or could not be
// written, so that undo does not take an older operation for the latest. Its first line holds the newest pruned id, so
// that pruned operations don't count as lost. The file has its full size from the start and can be updated on a full
// disk. Invalid lines are ignored.
const (
	latestName  = "latest"
	maxLatest   = 255
	idLength    = len("20061121T051354282482850-fzaj")
	latestBytes = (1 + maxLatest) * (idLength + 1)
)

// prunedMark begins the line with the newest pruned id, which has one byte less than the id. The rest of the line is
// zeros if nothing was pruned.
const prunedMark = "p"

// latestList is the content of the file latest.
type latestList struct {
	pruned string // the newest pruned id without its last byte; empty if the file does not say
	ids    []string
}

// noneIsPruned stands for an id in a store that has pruned nothing.
const noneIsPruned = "0000000000000000000000000000"

// prepareLatestFile creates the file latest from the archives in the store, if it is missing or has no valid line.
func (s *Store) prepareLatestFile() error {
	file, err := s.openLatestFile()
	if err != nil {
		if _, missing := os.Lstat(filepath.Join(s.dir, latestName)); missing != nil {
			return nil // the disk is full, and the next process tries again
		}
		return fmt.Errorf("open the undo store: %w", err)
	}
	defer func() { _ = file.Close() }()
	list := readLatestList(file)
	info, err := file.Stat()
	if err != nil || info.Size() == int64(latestBytes) && len(list.ids)+len(list.pruned) > 0 {
		return err
	}
	ids, err := s.listIDs()
	if err != nil {
		return err
	}
	switch {
	case len(ids) == 0:
		list.pruned = noneIsPruned
	case len(list.ids) == 0: // its lines are lost: there may have been a newer operation
		list.ids = []string{s.newOperationID()}
	}
	list.ids = append(list.ids, ids...)
	_ = list.write(file) // as above
	return nil
}

func (s *Store) openLatestFile() (*os.File, error) {
	return filelock.OpenLocked(filepath.Join(s.dir, latestName), filelock.LockWaiting)
}

// updateLatestList changes the file latest.
func (s *Store) updateLatestList(change func(*latestList)) {
	if file, err := s.openLatestFile(); err == nil {
		list := readLatestList(file)
		change(&list)
		_ = list.write(file)
		_ = file.Close()
	}
}

// addLatestID adds the id of an ended operation to the file latest.
func (s *Store) addLatestID(id string) {
	s.updateLatestList(func(l *latestList) { l.ids = append(l.ids, id) })
}

// readLatest returns the content of the file latest.
func (s *Store) readLatest() (latestList, error) {
	file, err := s.openLatestFile()
	if err != nil {
		return latestList{}, fmt.Errorf("read the undo store: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readLatestList(file), nil
}

// hasEnded reports whether the file latest lists an operation, which happens at its end.
func (s *Store) hasEnded(id string) bool {
	list, err := s.readLatest()
	return err == nil && slices.Contains(list.ids, id)
}

// listLostIDs returns ids in the file latest that have no archive. It excludes pruned operations and those older than
// the maximum age.
func (s *Store) listLostIDs(ids []string) (lost []string, err error) {
	list, err := s.readLatest()
	if err != nil {
		return nil, err
	}
	oldest := max(time.Now().Add(-s.options.MaxAge).UTC().Format(idTime), list.newestPruned(ids))
	for _, id := range list.ids {
		if id[:idLength-1] > oldest && !slices.Contains(ids, id) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// newestPruned returns the newest pruned id without its last byte. If the file does not say, as in a store of an
// earlier version, that is the id before the oldest archive.
func (l *latestList) newestPruned(ids []string) string {
	if l.pruned == "" && len(ids) > 0 {
		return ids[len(ids)-1][:idLength-1]
	}
	return l.pruned
}

// HasPruned reports whether the store deleted operations to stay within its bounds.
func (s *Store) HasPruned() bool {
	list, err := s.readLatest()
	return err == nil && list.pruned > noneIsPruned
}

// readLatestList returns the valid lines of the file latest.
func readLatestList(file *os.File) (l latestList) {
	text := make([]byte, latestBytes)
	n, err := file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return l
	}
	for line := range slices.Chunk(text[:n], idLength+1) {
		id := string(line[:min(len(line), idLength)])
		pruned, isMark := strings.CutPrefix(id, prunedMark)
		switch {
		case idPattern().MatchString(id):
			l.ids = append(l.ids, id)
		case isMark && (pruned == noneIsPruned || idPattern().MatchString(pruned+"a")):
			l.pruned = max(l.pruned, pruned)
		}
	}
	return l
}

// write overwrites the file latest with the newest of the ids.
func (l *latestList) write(file *os.File) error {
	sortNewestFirst(l.ids)
	l.ids = slices.Compact(l.ids)
	lines := l.ids[:min(len(l.ids), maxLatest)]
	if l.pruned != "" {
		lines = slices.Concat([]string{prunedMark + l.pruned}, lines)
	}
	text := bytes.Repeat([]byte{'\n'}, latestBytes)
	for i, line := range lines {
		copy(text[i*(idLength+1):], line)
	}
	_, err := file.WriteAt(text, 0)
	return err
}
