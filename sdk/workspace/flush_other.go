//go:build !windows

package workspace

import "os"

// flushDir has the names in a directory on disk.
func flushDir(dir *os.File) error { return dir.Sync() }
