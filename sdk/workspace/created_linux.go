package workspace

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// created returns when a file or directory was made; the zero time where that is not known.
func (w *Workspace) created(path string, info fs.FileInfo) (at time.Time) {
	read := func(f *os.File) {
		var stat unix.Statx_t
		if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &stat) == nil &&
			stat.Mask&unix.STATX_BTIME != 0 {
			at = time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
		}
		_ = f.Close()
	}
	_ = w.use(guard.Read, path, func(p place) error {
		var f *os.File
		var err error
		switch {
		case info.IsDir():
			f, err = p.openDir()
		case info.Mode().IsRegular():
			f, _, err = p.open(path)
		default:
			return nil // to open a device or FIFO may do something
		}
		if err != nil {
			return err
		}
		read(f)
		return nil
	})
	return at
}
