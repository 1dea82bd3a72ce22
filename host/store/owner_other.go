//go:build !unix

package store

import (
	"io/fs"
	"os"
)

// onlyOurs leaves it to the system's own permissions.
func onlyOurs(string, fs.FileInfo) error { return nil }

// lockFile takes no lock: a second operator at the same moment is not expected there.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
