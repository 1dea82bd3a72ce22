// Package fulldisk recognizes errors of full disks and says what to do. It knows nothing of what was written.
package fulldisk

import (
	"errors"
	"syscall"
)

// Remedy is the hint to an error of a full disk.
const Remedy = "free space or inodes on that disk (df, df -i), then try again"

// IsFull reports whether an error says that a disk or a quota has no free space or inodes.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
