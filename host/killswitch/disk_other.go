//go:build !linux

package killswitch

import (
	"errors"
	"os"
	"syscall"
)

// isDiskFull reports whether an error says that the disk is full.
func isDiskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// diskSpace returns the size of a directory's disk, and the bytes free for this user; 0 if unknown.
func diskSpace(string) (total, free uint64) { return 0, 0 }

// allocateFile sets the size of a file and allocates its space.
func allocateFile(file *os.File, size int64) error { return fillFile(file, size) }
