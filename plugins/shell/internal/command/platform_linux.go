package command

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeBytes is the buffer size of a pipe. It is larger than the default, so that reader and writer block less often.
const pipeBytes = 1 << 20

// enlargePipe enlarges a pipe's buffer, if the system permits.
func enlargePipe(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
}

// terminalAttributes returns attributes that make stdin the controlling terminal.
func terminalAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setctty: true, Ctty: 0} }

// pathOfOpenDir returns a path that refers to an open directory even after the directory is renamed.
func pathOfOpenDir(dir *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) }
