package workspace

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// settled is how long ago a file must have been changed for its times to tell the next change: no file system's clock
// is coarser.
const settled = 2 * time.Second

// Revision tells a file from what it is after a change, without reading it: by its number, its size, and when its
// contents and it itself were changed last, which no program can set. It is empty where the next change might not show:
// the file was changed a moment ago, or its time lies ahead.
//
// What a program changes through a mapping of the file into its memory shows only once the kernel notices, within half
// a minute.
func Revision(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(s.Ctim.Unix())) < settled {
		return ""
	}
	return fmt.Sprint(s.Ino, info.Size(), info.ModTime().UnixNano(), s.Ctim.Nano())
}
