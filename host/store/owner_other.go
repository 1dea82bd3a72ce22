//go:build !unix

package store

import (
	"io/fs"
)

// checkOnlyOwnerWrites returns an error if a user other than this one and root can write to a file or directory.
func checkOnlyOwnerWrites(string, fs.FileInfo) error { return nil }
