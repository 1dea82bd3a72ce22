//go:build !linux

package output

import (
	"io/fs"
	"time"
)

// changeTime returns the time of the last change of a file's contents: this system does not tell of its name.
func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
