//go:build unix

package mcp

import (
	"io"

	"golang.org/x/sys/unix"
)

// isReaderGone reports whether the reader of a pipe or socket has closed it.
func isReaderGone(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
