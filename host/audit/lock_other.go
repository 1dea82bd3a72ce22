//go:build !unix

package audit

import "os"

// withLock runs do. These systems can't rename open files, so each file has one writer.
func (l *Log) withLock(do func() error) error { return do() }

// withSharedLock runs do.
func withSharedLock(_ *os.File, do func() error) error { return do() }

// ignoreUnsupported drops all errors: these systems can't sync directories.
func ignoreUnsupported(error) error { return nil }
