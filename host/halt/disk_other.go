//go:build !linux

package halt

import (
	"errors"
	"os"
	"syscall"
)

// isFull reports whether an error says that the disk is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// diskSpace knows nothing here.
func diskSpace(string) (total, free uint64) { return 0, 0 }

// allocate makes a file that long, with all of its space.
func allocate(file *os.File, size int64) error { return fill(file, size) }
