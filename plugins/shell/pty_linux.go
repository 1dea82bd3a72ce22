package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal: ours is the end that types and reads, theirs the one that the command has.
func openTerminal(rows, cols int) (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	fail := func(err error) (*os.File, *os.File, error) {
		_ = ours.Close()
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	conn, err := ours.SyscallConn()
	if err != nil {
		return fail(err)
	}
	var peer uintptr
	control := conn.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return
		}
		// By the terminal itself and not by a name, which may mean another one in another place.
		var errno syscall.Errno
		if peer, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC); errno != 0 {
			err = errno
		}
	})
	if control != nil {
		return fail(control)
	}
	if err != nil {
		return fail(err)
	}
	theirs = os.NewFile(peer, "terminal")
	if err := resizeTerminal(ours, rows, cols); err != nil {
		_ = theirs.Close()
		return fail(err)
	}
	return ours, theirs, nil
}

// resizeTerminal sets a terminal's size, in characters.
func resizeTerminal(ours *os.File, rows, cols int) error {
	conn, err := ours.SyscallConn()
	if err != nil {
		return err
	}
	control := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	})
	if control != nil {
		return control
	}
	return err
}

// onTerminal makes a command's standard input its controlling terminal.
func onTerminal() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

// signals are those that can be sent, by name.
func signals() map[string]os.Signal {
	return map[string]os.Signal{
		"INT": unix.SIGINT, "TERM": unix.SIGTERM, "HUP": unix.SIGHUP, "QUIT": unix.SIGQUIT, "KILL": unix.SIGKILL,
		"USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "STOP": unix.SIGSTOP, "CONT": unix.SIGCONT, "WINCH": unix.SIGWINCH,
	}
}
