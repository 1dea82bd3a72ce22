// Package fulldisk recognizes errors of full disks and names the remedy. It knows nothing of the files.
package fulldisk

import (
	"errors"
	"syscall"
)

// Remedy is the hint for the error of a full disk.
const Remedy = "free space or inodes on that disk (df, df -i), then try again"

// IsFullDiskError reports whether an error means that a disk or quota has no free space or inodes.
func IsFullDiskError(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
