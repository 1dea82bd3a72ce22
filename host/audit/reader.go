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

// reader reads the records of a log, the oldest first, across the files that were put aside.
type reader struct {
	path   string
	each   func(Record) error
	broken int

	open  map[string]Record // calls that have begun and not ended, by [Record.Call]
	files []*os.File        // those that are left to read; the last is the current one
	rest  []byte            // what was read of a line that has no end yet
}

// Read gives each record of the log at a path to a function, until that returns an error. Calls without an end come last. It returns how many lines are
// no records; a log that does not exist has none.
func Read(path string, each func(Record) error) (broken int, err error) {
	r := &reader{path: path, each: each}
	defer r.close()
	if err := r.openFiles(nil); err != nil {
		return 0, err
	}
	if err = r.drain(); err == nil {
		err = r.passOpen(time.Now())
	}
	return r.broken + min(len(r.rest), 1), err // a last line without its end is cut
}

// openAfter is how long a call has to run until it is shown without its end.
const openAfter = 2 * time.Second

// passOpen gives those calls to each that arrived before a time and have not ended, the oldest first.
func (r *reader) passOpen(before time.Time) error {
	calls := slices.SortedFunc(maps.Values(r.open), func(a, b Record) int { return a.Time.Compare(b.Time) })
	for _, call := range calls {
		if !call.Time.Before(before) {
			continue
		}
		delete(r.open, call.Call)
		if err := r.each(call); err != nil {
			return err
		}
	}
	return nil
}

// pass gives a record to each, unless it is that of a call that may end yet.
func (r *reader) pass(record Record) error {
	if record.IsOpen() {
		if r.open == nil {
			r.open = map[string]Record{}
		}
		r.open[record.Call] = record
		return nil
	}
	delete(r.open, record.Call)
	return r.each(record)
}

// followEvery is how often a log is looked at for more.
const followEvery = 100 * time.Millisecond

// Follow is like [Read], and then goes on with the records that come, until the context ends. caughtUp is called once,
// when all is read that was there.
func Follow(ctx context.Context, path string, each func(Record) error, caughtUp func()) error {
	r := &reader{path: path, each: each}
	defer r.close()
	if err := r.openFiles(nil); err != nil {
		return err
	}
	if err := r.drain(); err != nil {
		return err
	}
	if err := r.passOpen(time.Now().Add(-openAfter)); err != nil {
		return err
	}
	caughtUp()
	return r.follow(ctx)
}

// follow reads the records that come until the context ends.
func (r *reader) follow(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if err := r.more(); err != nil {
			return err
		}
		if err := r.passOpen(time.Now().Add(-openAfter)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// more reads what has come since. The file at hand is read to its end even after it was put aside, as it is open; then
// come those that were begun after it.
func (r *reader) more() error {
	if err := r.drain(); err != nil {
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
	return r.drain()
}

// openFiles opens the files of the log. after is the one that was read so far, and is open: it and what is older are left
// out. While that is done nobody puts a file aside.
func (r *reader) openFiles(after os.FileInfo) error {
	dir, err := os.Open(filepath.Dir(r.path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer dir.Close()
	var opened []*os.File
	err = shared(dir, func() error {
		paths, err := aside(r.path)
		if err != nil {
			return err
		}
		for _, path := range append(paths, r.path) {
			f, err := os.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
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
	for _, f := range opened[:known+1] { // none, if the one at hand has been removed meanwhile
		_ = f.Close()
		r.files = slices.DeleteFunc(r.files, func(other *os.File) bool { return other == f })
	}
	return nil
}

// drain reads the files to their ends. It keeps the last one open.
func (r *reader) drain() error {
	for len(r.files) > 0 {
		if err := r.lines(r.files[0]); err != nil {
			return err
		}
		if len(r.files) == 1 {
			return nil
		}
		r.broken += min(len(r.rest), 1) // a line without its end, and nobody will end it now
		r.rest = nil
		_ = r.files[0].Close()
		r.files = r.files[1:]
	}
	return nil
}

func (r *reader) lines(f *os.File) error {
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
		record, ok := parse(line)
		if !ok {
			r.broken++
			continue
		}
		if err := r.pass(record); err != nil {
			return err
		}
	}
}

func (r *reader) close() {
	for _, f := range r.files {
		_ = f.Close()
	}
}
