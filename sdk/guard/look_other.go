//go:build !unix

package guard

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// look looks a name up.
func look(path string) (e entry) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.missing = true
	case err != nil:
		e.err = err
	case info.Mode()&fs.ModeSymlink != 0:
		e.target, e.err = os.Readlink(path)
	}
	return e
}
