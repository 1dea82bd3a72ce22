package command

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeBytes is how much a pipe may hold: more than the usual, so that reader and writer wait for each other less.
const pipeBytes = 1 << 20

// widenPipe enlarges a pipe's buffer, if permitted.
func widenPipe(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
}

// terminalAttributes makes standard input the terminal that the command's session is controlled from.
func terminalAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setctty: true, Ctty: 0} }

// handlePath returns a path that refers to an open directory, even if it is renamed.
func handlePath(dir *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) }
