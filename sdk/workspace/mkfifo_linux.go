package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// fifos says that FIFOs can be made.
const fifos = true

// mkfifoAt makes a FIFO in an open directory.
func mkfifoAt(dir *os.File, name string) error {
	if err := unix.Mkfifoat(int(dir.Fd()), name, newFile); err != nil {
		return &os.PathError{Op: "mkfifo", Path: name, Err: err}
	}
	return nil
}
