package takeback

import (
	"io/fs"
	"syscall"
)

// identity returns which file something is, and when it was changed last in whatever way, in nanoseconds since 1970.
func identity(info fs.FileInfo) (id fileID, changed int64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, 0
	}
	return fileID{s.Dev, s.Ino}, s.Ctim.Nano()
}
