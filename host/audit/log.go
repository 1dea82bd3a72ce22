// Package audit writes the audit log and reads it: one line of JSON for each entry, in files only their owner can read.
//
// Several host processes append to one file, and one of them rotates it when it is full. A lock on the directory
// serializes them; each holder checks which file is current. An entry that can't be written is kept and written with
// the next one.
//
// Rotation renames the full file to a name with the time in it. No writer keeps a rotated file open, so entries are
// neither lost nor split.
//
// Every entry ends with a hash of itself and the entry before, computed under the lock. There is no key, since an
// attacker who controls the host could use it too. A hash noted elsewhere detects rewritten logs.
//
// The package must not know how a call is decided or made.
package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// LogOptions configure a log. The zero value never rotates files, and syncs entries to disk within a second.
type LogOptions struct {
	// MaxSize is the size in bytes at which the file is rotated; 0 for no limit.
	MaxSize int64

	// MaxFiles is the number of rotated files to keep; 0 keeps all.
	MaxFiles int

	// SyncEach syncs each entry to disk before Write returns, instead of within a second.
	SyncEach bool
}

// syncInterval is the maximum time until an entry is synced to disk.
const syncInterval = time.Second

// maxPending limits the entries that are kept in memory after failed writes.
const maxPending = 1024

// Log is an audit log that is open for writing. Several goroutines and processes may write to the same log.
type Log struct {
	path        string
	options     LogOptions
	lockTimeout time.Duration

	mu         sync.Mutex
	dir        *os.File      // open for locking
	file       *os.File      // current file at the last check
	openedInfo os.FileInfo   // identifies file
	pending    [][]byte      // entries that could not be written yet
	dropped    int           // number of entries beyond maxPending
	reserved   int64         // end of the allocated space
	end        int64         // size of the file at the last check
	last       chainHash     // hash of the last line
	lastEnd    int64         // file size that belongs to last; -1 if unknown
	before     chainPosition // position of the first line, in an empty file
	timer      *time.Timer
	syncErr    error
	closed     bool
}

// lockTimeout limits the wait for the directory lock. It exceeds the time for which a running writer holds the lock.
const lockTimeout = 5 * time.Second

// OpenLog opens the log at a path. It creates the file and its directory if needed.
func OpenLog(path string, options LogOptions) (*Log, error) {
	l := &Log{path: path, options: options, lockTimeout: lockTimeout}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	l.dir = dir
	err = l.withDirLock(func() error {
		if lost := checkCurrentFileNotLost(l.path); lost != nil {
			return lost
		}
		return l.openCurrentFile()
	})
	if err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return l, nil
}

// Write appends an entry as one whole line. A failed entry is kept, and written before the next one.
func (l *Log) Write(r Record) error {
	record, err := r.encodeShortened()
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("write the audit log: it is closed")
	}
	if len(l.pending) == maxPending {
		l.dropped++
	} else {
		l.pending = append(l.pending, record)
	}
	return l.flushPending()
}

// EnsureWritable returns an error if the next entry can't be written. It writes pending entries and, where supported,
// allocates disk space.
func (l *Log) EnsureWritable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the audit log is closed")
	}
	if l.syncErr != nil {
		err := l.syncErr
		l.syncErr = nil // retried in the next second
		return err
	}
	if len(l.pending) > 0 {
		if err := l.flushPending(); err != nil {
			return err
		}
	}
	const ahead, step = 32 << 10, 256 << 10
	if l.end+ahead <= l.reserved {
		return nil
	}
	if err := reserveSpace(l.file, l.end, step); err != nil {
		return fmt.Errorf("there is no room for the audit log: %w", err)
	}
	l.reserved = l.end + step
	return nil
}

// flushPending writes the pending entries. The caller holds l.mu.
func (l *Log) flushPending() error {
	err := l.withDirLock(func() error {
		for len(l.pending) > 0 {
			if err := l.appendOrRotate(l.pending[0]); err != nil {
				return err
			}
			l.pending = l.pending[1:]
		}
		l.pending = nil
		return nil
	})
	if err == nil && l.dropped > 0 {
		err = fmt.Errorf("%d entries were lost while it could not be written", l.dropped)
		l.dropped = 0
	}
	if err == nil {
		err = l.scheduleSync()
	}
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// appendOrRotate writes a record to the current file, which it creates or rotates if needed. The caller holds both
// locks.
func (l *Log) appendOrRotate(record []byte) error {
	if err := l.openCurrentFile(); err != nil {
		return err
	}
	if err := l.loadLastHash(); err != nil {
		return err
	}
	if limit := l.options.MaxSize; limit > 0 && l.end > 0 && l.end+int64(len(record)+chainMemberLength) > limit {
		return l.rotateAndWriteRecord(record)
	}
	return l.writeRecord(record)
}

// writeRecord writes the line of a record to the current file. The caller has called loadLastHash.
func (l *Log) writeRecord(record []byte) error {
	if l.end == 0 {
		record = l.last.linkFirstRecord(record, l.before)
	}
	next := l.last.nextHash(record)
	line := next.formatLine(record)
	n, err := l.file.Write(line)
	if err != nil {
		if n > 0 { // the lock excludes other writers
			err = errors.Join(err, l.file.Truncate(l.end))
		}
		return err
	}
	l.end += int64(n)
	l.last, l.lastEnd = next, l.end
	return nil
}

// scheduleSync syncs written entries to disk, now or within a second.
func (l *Log) scheduleSync() error {
	if l.options.SyncEach {
		return ignoreUnsupportedSyncError(l.file.Sync())
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(syncInterval, l.syncFile)
	}
	return nil
}

func (l *Log) syncFile() {
	l.mu.Lock()
	l.timer = nil
	f := l.file
	l.mu.Unlock() // don't block calls while the disk syncs
	err := ignoreUnsupportedSyncError(f.Sync())
	l.mu.Lock()
	defer l.mu.Unlock()
	if !errors.Is(err, os.ErrClosed) { // files are synced before they are closed
		l.syncErr = err
	}
}

// Close syncs the log to disk and closes it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	var err error
	if len(l.pending) > 0 {
		err = l.flushPending()
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.closed = true
	err = errors.Join(err, ignoreUnsupportedSyncError(l.file.Sync()), l.file.Close(), l.dir.Close())
	if err != nil {
		return fmt.Errorf("close the audit log: %w", err)
	}
	return nil
}
