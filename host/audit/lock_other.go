//go:build !unix

package audit

import "os"

// withDirLock runs do without a lock. These systems can't rename open files, so each file has one writer.
func (l *Log) withDirLock(do func() error) error { return do() }

// withSharedDirLock runs do without a lock, since this system has one writer per file.
func withSharedDirLock(_ *os.File, do func() error) error { return do() }

// ignoreUnsupportedSyncError drops all errors: these systems can't sync directories.
func ignoreUnsupportedSyncError(error) error { return nil }
