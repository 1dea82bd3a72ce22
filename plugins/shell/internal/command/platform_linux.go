package command

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeBytes is how much a pipe may hold: more than the usual, so that reader and writer wait for each other less.
const pipeBytes = 1 << 20

// widen makes room in a pipe; where that is refused the usual has to do.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
}

// onTerminal makes standard input the terminal that the command's session is controlled from.
func onTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setctty: true, Ctty: 0} }

// handlePath is a name for an open directory that means it and nothing else, whatever its own name has come to mean.
func handlePath(dir *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) }
