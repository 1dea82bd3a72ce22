package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY makes a pseudo-terminal: control is ours, terminal the command's.
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

// ResizePTY gives the terminal another size; what runs on it is told.
func ResizePTY(control *os.File, size Size) error {
	return withDescriptor(control, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
}

// withDescriptor uses a file's descriptor without removing it from the poller.
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
