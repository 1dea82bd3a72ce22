//go:build unix

package halt

import (
	"errors"
	"syscall"
)

// full reports whether an error is that there is no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
