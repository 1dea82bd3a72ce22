//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// fifos says that FIFOs can't be made: there is no call that makes one in an open directory.
const fifos = false

func mkfifoAt(_ *os.File, name string) error {
	return &os.PathError{Op: "mkfifo", Path: name, Err: errors.ErrUnsupported}
}
