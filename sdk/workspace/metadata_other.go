//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// keepMetadata gives a file that is about to take the place of another the other's mode.
func keepMetadata(_ *os.File, info fs.FileInfo, f *os.File) error {
	return f.Chmod(info.Mode().Perm())
}

// copyMetadata gives a copy the mode of what it is a copy of.
func copyMetadata(_ *os.File, info fs.FileInfo, to *os.File) error {
	return to.Chmod(info.Mode().Perm())
}
