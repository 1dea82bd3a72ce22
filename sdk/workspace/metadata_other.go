//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// keepMetadata gives a file that is about to take the place of another the other's mode.
func keepMetadata(_ *os.Root, _ string, info fs.FileInfo, f *os.File) error {
	return f.Chmod(info.Mode().Perm())
}
