package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// logReader reads the entries of a log across rotated files, from the oldest to the current one.
type logReader struct {
	path   string
	each   func(Record) error
	broken int

	openCalls map[string]Record // calls that have begun and not ended, by [Record.Call]
	files     []*os.File        // files left to read; the last is the current one
	rest      []byte            // beginning of an incomplete line
}

// ReadLog passes each entry of the log at a path to each, until each returns an error. Calls without an end come last.
// It returns the number of invalid lines. A log of a home that was never used has no entries.
func ReadLog(path string, each func(Record) error) (broken int, err error) {
	r := &logReader{path: path, each: each}
	defer r.closeFiles()
	if err = r.openFiles(nil); err != nil {
		return 0, err
	}
	if err = r.readFiles(); err == nil {
		err = r.emitOpenCalls(time.Now())
	}
	return r.broken + min(len(r.rest), 1), err // an incomplete last line
}

// openCallDelay is the time after which readers report a running call before its end.
const openCallDelay = 2 * time.Second

// emitOpenCalls emits the calls that began before a time and have no end entry, oldest first.
func (r *logReader) emitOpenCalls(before time.Time) error {
	calls := slices.SortedFunc(maps.Values(r.openCalls), func(a, b Record) int { return a.Time.Compare(b.Time) })
	for _, call := range calls {
		if !call.Time.Before(before) {
			continue
		}
		delete(r.openCalls, call.Call)
		if err := r.each(call); err != nil {
			return err
		}
	}
	return nil
}

// emitRecord passes on an entry, or keeps it if it begins a call that may still end.
func (r *logReader) emitRecord(record Record) error {
	if record.IsOpen() {
		if r.openCalls == nil {
			r.openCalls = map[string]Record{}
		}
		r.openCalls[record.Call] = record
		return nil
	}
	delete(r.openCalls, record.Call)
	return r.each(record)
}

// followInterval is the pause between two reads of a followed log.
const followInterval = 100 * time.Millisecond

// FollowLog is like [ReadLog], but continues with new entries until the context ends. After the existing entries it
// calls caughtUp.
func FollowLog(ctx context.Context, path string, each func(Record) error, caughtUp func()) error {
	r := &logReader{path: path, each: each}
	defer r.closeFiles()
	return r.followFiles(ctx, caughtUp)
}

// followFiles reads new entries until the context ends. It calls caughtUp after the existing ones.
func (r *logReader) followFiles(ctx context.Context, caughtUp func()) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := r.readNewRecords(); err != nil {
			return err
		}
		if err := r.emitOpenCalls(time.Now().Add(-openCallDelay)); err != nil {
			return err
		}
		if first {
			caughtUp()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// readNewRecords reads new entries: the rest of the open file, even if it was rotated, then the newer files.
func (r *logReader) readNewRecords() error {
	if err := r.readFiles(); err != nil {
		return err
	}
	var last os.FileInfo
	if len(r.files) > 0 {
		info, err := r.files[0].Stat()
		if err != nil {
			return err
		}
		if now, err := os.Stat(r.path); err == nil && os.SameFile(info, now) {
			return nil
		}
		last = info
	}
	if err := r.openFiles(last); err != nil {
		return err
	}
	return r.readFiles()
}

// openFiles opens the log's files under a shared lock. It skips the file described by after, which was read, and older
// ones; nil skips none.
func (r *logReader) openFiles(after os.FileInfo) error {
	dir, err := os.Open(filepath.Dir(r.path))
	if errors.Is(err, fs.ErrNotExist) {
		if err = checkCurrentFileNotLost(r.path); err == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer dir.Close()
	var opened []*os.File
	err = withSharedDirLock(dir, func() error {
		if checkErr := checkCurrentFileNotLost(r.path); checkErr != nil {
			return checkErr
		}
		paths, listErr := rotatedFilePaths(r.path)
		if listErr != nil {
			return listErr
		}
		for _, path := range append(paths, r.path) {
			f, _, openErr := openRegularFile(path, os.O_RDONLY)
			if errors.Is(openErr, fs.ErrNotExist) {
				continue
			}
			if openErr != nil {
				return openErr
			}
			opened = append(opened, f)
		}
		return nil
	})
	r.files = append(r.files, opened...)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	if after == nil {
		return nil
	}
	known := slices.IndexFunc(opened, func(f *os.File) bool {
		info, err := f.Stat()
		return err == nil && os.SameFile(info, after)
	})
	for _, f := range opened[:known+1] { // none if the current file was removed
		_ = f.Close()
		r.files = slices.DeleteFunc(r.files, func(other *os.File) bool { return other == f })
	}
	return nil
}

// readFiles reads the open files to their ends, and closes all but the last.
func (r *logReader) readFiles() error {
	for len(r.files) > 0 {
		if err := r.readLines(r.files[0]); err != nil {
			return err
		}
		if len(r.files) == 1 {
			return nil
		}
		r.broken += min(len(r.rest), 1) // an incomplete line that nobody will complete
		r.rest = nil
		_ = r.files[0].Close()
		r.files = r.files[1:]
	}
	return nil
}

func (r *logReader) readLines(f *os.File) error {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		line = append(r.rest, line...)
		r.rest = nil
		if errors.Is(err, io.EOF) {
			r.rest = line
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		record, ok := parseRecordLine(line)
		if !ok {
			r.broken++
			continue
		}
		if err := r.emitRecord(record); err != nil {
			return err
		}
	}
}

func (r *logReader) closeFiles() {
	for _, f := range r.files {
		_ = f.Close()
	}
}
