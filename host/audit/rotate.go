package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// LogPath returns the path of the audit log in a home.
func LogPath(home string) string { return filepath.Join(home, "logs", "audit.jsonl") }

// LogExists reports whether a home has an audit log, or a rotated file of it.
func LogExists(home string) bool {
	if _, err := os.Lstat(LogPath(home)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	files, err := rotatedFilePaths(LogPath(home))
	return len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// nextSuffix is the suffix of the new file while a rotation is in progress.
const nextSuffix = ".next"

// checkCurrentFileNotLost returns an error if the current file of a log is missing or empty although the home lists it. The
// caller holds the directory lock, so no rotation is in progress. A killed rotation leaves the file with nextSuffix.
func checkCurrentFileNotLost(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path + nextSuffix); err == nil {
			return nil
		}
	}
	return statefiles.CheckNotMissing(filepath.Dir(filepath.Dir(path)), path)
}

// openRegularFile opens a file of a log. It refuses devices (they keep nothing) and FIFOs (they block).
func openRegularFile(path string, flag int) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, flag|filelock.NonBlock, 0o600)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = damagedFileError(path, "is not a regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func damagedFileError(path, fault string) error {
	if filepath.Base(path) != filepath.Base(LogPath("")) { // a rotated file, which the home does not list
		return fmt.Errorf("%s %s; restore a copy, or move it away", path, fault)
	}
	return fmt.Errorf("%s %s; restore a copy, or move it away and remove its line from %s to begin a new log", path, fault,
		statefiles.StateListPath(filepath.Dir(filepath.Dir(path))))
}

// checkHasEntry returns an error if a file of this size has text but no entry.
func checkHasEntry(f *os.File, end int64) error {
	last, err := lastChainHash(f, end)
	if err != nil || last != "" || end == 0 {
		return err
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(f, 0, end), 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if _, ok := parseRecordLine(line); ok {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return damagedFileError(f.Name(), "has no entries: it was overwritten or damaged")
		}
		if err != nil {
			return err
		}
	}
}

// openCurrentFile opens the file at the path as l.file, unless it is open. Another process may have rotated the log.
// The caller holds the directory lock.
func (l *Log) openCurrentFile() error {
	if l.file != nil {
		if now, err := os.Stat(l.path); err == nil && os.SameFile(l.openedInfo, now) {
			l.end = now.Size()
			return nil
		}
	}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(l.path+nextSuffix, l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, info, err := openRegularFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // keep the mode of another user's file
	}
	if err = checkHasEntry(f, info.Size()); err == nil {
		err = finishIncompleteLine(f, info)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return err
	}
	l.lastEnd = -1
	if l.file != nil {
		if info.Size() == 0 && l.loadRemovedFileHash() {
			l.lastEnd = 0
		}
		_ = l.file.Sync() // another process may have rotated it
		_ = l.file.Close()
	}
	l.file, l.openedInfo, l.end, l.reserved = f, info, info.Size(), 0
	if l.end > 0 {
		return nil
	}
	return ignoreUnsupportedSyncError(l.dir.Sync()) // a new file needs a directory sync
}

// finishIncompleteLine ends a line that a power failure cut off, so that the next entry begins a new line.
func finishIncompleteLine(f *os.File, info os.FileInfo) error {
	if info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err := f.Write([]byte("\n"))
	return err
}

// rotateAndWriteRecord renames the current file and writes a record to a new one. The caller holds the directory lock and has
// called loadLastHash.
func (l *Log) rotateAndWriteRecord(record []byte) error {
	if info, err := os.Lstat(l.path); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, l.writeRecord(record)) // other files are not rotated here
	}
	// Truncate frees reserved space
	if err := errors.Join(l.file.Truncate(l.end), l.file.Sync()); err != nil {
		return err
	}
	before, err := chainPositionAt(l.file, l.end)
	if err != nil {
		return err
	}
	record = l.last.linkFirstRecord(record, before)
	next := l.last.nextHash(record)
	if err := os.WriteFile(l.path+nextSuffix, next.formatLine(record), 0o600); err != nil {
		_ = os.Remove(l.path + nextSuffix) // it may not exist
		return err
	}
	at := time.Now().UTC()
	for {
		aside := rotatedFilePath(l.path, at)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(l.path, aside); err != nil {
				return err
			}
			break
		}
		at = at.Add(time.Nanosecond)
	}
	if err := errors.Join(l.openCurrentFile(), ignoreUnsupportedSyncError(l.dir.Sync())); err != nil {
		return err
	}
	l.last, l.lastEnd = next, l.end
	return l.removeOldFiles()
}

// rotatedLayout is the time format in the names of rotated files. The names sort by time.
const rotatedLayout = "20060102T150405.000000000Z"

// rotatedFilePath returns the path of a rotated file: audit-20261121T074512.123456789Z.jsonl for audit.jsonl.
func rotatedFilePath(path string, at time.Time) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + at.Format(rotatedLayout) + ext
}

// rotatedFilePaths returns the paths of the rotated files, the oldest first.
func rotatedFilePaths(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(path)
	prefix := strings.TrimSuffix(filepath.Base(path), ext) + "-"
	var found []string
	for _, entry := range entries {
		stamp, ok := strings.CutPrefix(entry.Name(), prefix)
		stamp, too := strings.CutSuffix(stamp, ext)
		if _, err := time.Parse(rotatedLayout, stamp); ok && too && err == nil {
			found = append(found, filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	slices.Sort(found)
	return found, nil
}

// removeOldFiles removes the oldest files beyond MaxFiles.
func (l *Log) removeOldFiles() error {
	if l.options.MaxFiles == 0 {
		return nil
	}
	files, err := rotatedFilePaths(l.path)
	if err != nil {
		return err
	}
	for _, old := range files[:max(len(files)-l.options.MaxFiles, 0)] {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
