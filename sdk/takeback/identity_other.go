//go:build !linux

package takeback

import "io/fs"

// identity returns nothing: changes are noticed on Linux alone.
func identity(fs.FileInfo) (id fileID, changed int64) { return fileID{}, 0 }
