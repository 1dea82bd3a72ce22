//go:build !linux

package command

import "os"

// handlePath is the directory's name: only Linux can name a handle.
func handlePath(dir *os.File) string { return dir.Name() }
