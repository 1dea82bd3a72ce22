//go:build !unix

package store

import (
	"io/fs"
)

// checkOnlyOwnerWrites does nothing: file modes are meaningless on this system.
func checkOnlyOwnerWrites(string, fs.FileInfo) error { return nil }
