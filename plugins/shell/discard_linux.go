package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discard gives back the room of a file's beginning. Where the file system can't, it stays until the file is closed.
func discard(f *os.File, to int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, to)
}
