package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File returns the path of the audit log of a home.
func File(home string) string { return filepath.Join(home, "logs", "audit.jsonl") }

// Exists reports whether a home has an audit log, or a file of one that was put aside.
func Exists(home string) bool {
	if _, err := os.Lstat(File(home)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	files, err := aside(File(home))
	return len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// follow makes l.file the file at the path: another process may have put the one that it was aside. The caller holds
// the lock on the directory.
func (l *Log) follow() error {
	if l.file != nil {
		if now, err := os.Stat(l.path); err == nil && os.SameFile(l.opened, now) {
			l.end = now.Size()
			return nil
		}
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // it may be somebody else's, who then reads it as before
	}
	if err == nil {
		err = finishLine(f, info)
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
		if info.Size() == 0 && l.gone() {
			l.lastEnd = 0
		}
		_ = l.file.Sync() // it may have been put aside by a process that had written nothing itself
		_ = l.file.Close()
	}
	l.file, l.opened, l.end, l.reserved = f, info, info.Size(), 0
	l.regular = info.Mode().IsRegular()
	if l.end > 0 {
		return nil
	}
	return ignoreUnsupported(l.dir.Sync()) // it may be new
}

// finishLine ends a line that a power failure has left without its end, so that the next one begins a line.
func finishLine(f *os.File, info os.FileInfo) error {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err := f.Write([]byte("\n"))
	return err
}

// rotate puts the current file aside and begins a new one. The caller holds the lock on the directory, and has just
// followed.
func (l *Log) rotate() error {
	if info, err := os.Lstat(l.path); err != nil || !info.Mode().IsRegular() {
		return err // somewhere else is somebody else's to keep small
	}
	// the former gives back room that was reserved
	if err := errors.Join(l.file.Truncate(l.end), l.file.Sync()); err != nil {
		return err
	}
	before, err := positionAt(l.file, l.end)
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	for {
		aside := asideName(l.path, at)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(l.path, aside); err != nil {
				return err
			}
			break
		}
		at = at.Add(time.Nanosecond)
	}
	if err := l.follow(); err != nil {
		return err
	}
	l.lastEnd, l.before = l.end, before // the chain goes on in the new file
	return l.prune()
}

// asideLayout sorts as time does.
const asideLayout = "20060102T150405.000000000Z"

// asideName is the name of a file that was put aside: audit-20261121T074512.123456789Z.jsonl beside audit.jsonl.
func asideName(path string, at time.Time) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + at.Format(asideLayout) + ext
}

// aside returns the files that were put aside, the oldest first.
func aside(path string) ([]string, error) {
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
		if _, err := time.Parse(asideLayout, stamp); ok && too && err == nil && entry.Type().IsRegular() {
			found = append(found, filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	slices.Sort(found)
	return found, nil
}

// prune removes the oldest files beyond those that are kept.
func (l *Log) prune() error {
	if l.options.MaxFiles == 0 {
		return nil
	}
	files, err := aside(l.path)
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
