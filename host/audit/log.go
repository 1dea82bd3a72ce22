// Package audit keeps the record of every call: one line of JSON each, in files that only their owner can read, and
// reads them again.
//
// Several host processes write to one file at the same time, and one of them rotates it when it is full: a lock on the
// directory has them take turns, and each looks, in its turn, which file is the current one. A record that can't be
// written is kept and written with the next one.
//
// A full file is put aside by one rename, to a name with the time in it. No writer holds on to a file that was put
// aside, so no record is lost or cut in two between several hosts.
//
// Every record ends with a hash of the record before and itself, made under the lock. There is no key: whoever takes
// the host over could use it too. A head that is noted elsewhere does more.
//
// The package must not know how a call is decided or made; it is told, and writes it down.
package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options say how a log is kept. The zero value never rotates and puts records on disk every second.
type Options struct {
	// MaxSize is how large the file may become, in bytes, before it is put aside and a new one begun; 0 for no limit.
	MaxSize int64

	// MaxFiles is how many files are kept that were put aside; 0 keeps all.
	MaxFiles int

	// SyncEach has each record on disk before Write returns. Otherwise that takes up to a second.
	SyncEach bool
}

// syncEvery is how long a record may wait until it is put on disk.
const syncEvery = time.Second

// maxPending bounds the records that wait for being written.
const maxPending = 1024

// Log is an open audit log. It may be used concurrently, and by several processes on the same path.
type Log struct {
	path        string
	options     Options
	lockTimeout time.Duration

	mu       sync.Mutex
	dir      *os.File    // held open to be locked
	file     *os.File    // the file that was current when it was last looked
	opened   os.FileInfo // which that is
	pending  [][]byte    // records that could not be written yet
	dropped  int         // records that there was no place to keep
	reserved int64       // up to where there is room in the file
	end      int64       // where the file ended when it was last looked
	regular  bool        // it is a file indeed, and no device
	last     chain       // that of the last line
	lastEnd  int64       // where the file ended when that was so; -1 if it is not known
	before   position    // in a file without lines, where its first will be
	timer    *time.Timer
	syncErr  error
	closed   bool
}

// lockTimeout is longer than a writer holds the lock, unless it is stopped.
const lockTimeout = 5 * time.Second

// Open opens the log at a path, and makes it and its directory if need be.
func Open(path string, options Options) (*Log, error) {
	l := &Log{path: path, options: options, lockTimeout: lockTimeout}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	l.dir = dir
	if err := l.locked(l.follow); err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return l, nil
}

// Write adds a record. Its line is written in one piece, or not at all; then it is kept, to be written with the next
// one.
func (l *Log) Write(r Record) error {
	record, err := r.text()
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
	return l.flush()
}

// Ready reports whether the next record can be written, and writes those that could not be so far. It makes sure of
// room on disk, where the file system can.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the audit log is closed")
	}
	if l.syncErr != nil {
		err := l.syncErr
		l.syncErr = nil // the next second tries again
		return err
	}
	if len(l.pending) > 0 {
		if err := l.flush(); err != nil {
			return err
		}
	}
	const ahead, step = 32 << 10, 256 << 10
	if l.end+ahead <= l.reserved {
		return nil
	}
	if err := reserve(l.file, l.end, step); err != nil {
		return fmt.Errorf("there is no room for the audit log: %w", err)
	}
	l.reserved = l.end + step
	return nil
}

// flush writes the records that are pending. The caller holds l.mu.
func (l *Log) flush() error {
	err := l.locked(func() error {
		for len(l.pending) > 0 {
			if err := l.append(l.pending[0]); err != nil {
				return err
			}
			l.pending = l.pending[1:]
		}
		l.pending = nil
		return nil
	})
	if err == nil && l.dropped > 0 {
		err = fmt.Errorf("records were lost while it could not be written: %d", l.dropped)
		l.dropped = 0
	}
	if err == nil {
		err = l.arrangeSync()
	}
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// append writes the line of a record to the current file, after making it if need be. The caller holds both locks.
func (l *Log) append(record []byte) error {
	if err := l.follow(); err != nil {
		return err
	}
	if err := l.catchUp(); err != nil {
		return err
	}
	if limit := l.options.MaxSize; limit > 0 && l.end > 0 && l.end+int64(len(record)+chainMember) > limit {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	if l.end == 0 && l.regular {
		record = l.last.before(record, l.before)
	}
	next := l.last.next(record)
	line := next.line(record)
	n, err := l.file.Write(line)
	if err != nil {
		if n > 0 { // nobody else has written since: the lock is ours
			err = errors.Join(err, l.file.Truncate(l.end))
		}
		return err
	}
	l.end += int64(n)
	l.last, l.lastEnd = next, l.end
	return nil
}

// arrangeSync sees to it that what was written gets to the disk.
func (l *Log) arrangeSync() error {
	if l.options.SyncEach {
		return ignoreUnsupported(l.file.Sync())
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(syncEvery, l.sync)
	}
	return nil
}

func (l *Log) sync() {
	l.mu.Lock()
	l.timer = nil
	f := l.file
	l.mu.Unlock() // calls need not wait for the disk
	err := ignoreUnsupported(f.Sync())
	l.mu.Lock()
	defer l.mu.Unlock()
	if !errors.Is(err, os.ErrClosed) { // a file that was closed was put on disk before
		l.syncErr = err
	}
}

// Close puts the log on disk and closes it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	var err error
	if len(l.pending) > 0 {
		err = l.flush()
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.closed = true
	err = errors.Join(err, ignoreUnsupported(l.file.Sync()), l.file.Close(), l.dir.Close())
	if err != nil {
		return fmt.Errorf("close the audit log: %w", err)
	}
	return nil
}
