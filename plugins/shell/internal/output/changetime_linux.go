package output

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns the time of the last change of a file or its name.
func changeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}
