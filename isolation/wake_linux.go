package isolation

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// wakeAtHangup makes the kernel continue a stopped child when its stdin pipe is closed. This process holds the other
// end of the pipe. So a stopped child continues when this process dies, and handles its parent-death signal.
func wakeAtHangup(child *exec.Cmd) error {
	stdin, ok := child.Stdin.(*os.File)
	if !ok {
		return nil
	}
	raw, err := stdin.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = signalWhenReadable(int(fd), child.Process.Pid, unix.SIGCONT) })
	if err != nil {
		return err
	}
	return failed
}

// signalWhenReadable makes the kernel send sig to pid whenever a pipe becomes readable. A pipe also becomes readable
// when its other end is closed.
func signalWhenReadable(fd, pid int, sig unix.Signal) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return err
	}
	for _, set := range []struct{ command, value int }{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(sig)}} {
		if _, err := unix.FcntlInt(uintptr(fd), set.command, set.value); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_ASYNC)
	}
	return os.NewSyscallError("fcntl", err)
}
