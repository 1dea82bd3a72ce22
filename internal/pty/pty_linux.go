package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY creates a pseudo-terminal. control is the end of this process, terminal that of the command.
func OpenPTY(size Size) (control, terminal *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	err = withDescriptor(control, func(fd int) error {
		if ioctlErr := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); ioctlErr != nil {
			return ioctlErr
		}
		// By descriptor, not by name: a name could mean somebody else's terminal.
		peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER,
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return errno
		}
		terminal = os.NewFile(peer, "terminal")
		return nil
	})
	if err == nil {
		err = ResizePTY(control, size)
	}
	if err != nil {
		_ = control.Close()
		if terminal != nil {
			_ = terminal.Close()
		}
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	return control, terminal, nil
}

// ResizePTY changes the size of a terminal. The kernel signals programs that run on it.
func ResizePTY(control *os.File, size Size) error {
	return withDescriptor(control, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
}

// withDescriptor calls use with a file's descriptor and keeps the file in the runtime's poller.
func withDescriptor(f *os.File, use func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = use(int(fd)) }); err != nil {
		return err
	}
	return failed
}
