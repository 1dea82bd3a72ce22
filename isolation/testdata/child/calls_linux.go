package main

import (
	"fmt"
	"os/signal"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// nothing is an argument that no call can do anything with: as a pointer it leads nowhere, as a number it is too large.
const nothing = ^uintptr(0)

// high is a bit that the kernel does not look at in flags and requests.
const high = 1 << 32

// attempts are system calls that a sandbox has no business making. Where there is a harmless way to have the call
// succeed they go that way; elsewhere they are made with arguments that the kernel itself finds wrong, and its error
// tells that the call got there.
var attempts = map[string]func() error{
	"keyctl": func() error {
		return raw(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, keySpecSession,
			1)
	},
	"add_key":           func() error { return raw(unix.SYS_ADD_KEY, nothing, nothing, nothing, 0) },
	"request_key":       func() error { return raw(unix.SYS_REQUEST_KEY, nothing, nothing, nothing, 0) },
	"bpf":               func() error { return raw(unix.SYS_BPF, nothing, nothing, 16) },
	"userfaultfd":       func() error { return raw(unix.SYS_USERFAULTFD, nothing) },
	"io_uring_setup":    func() error { return raw(unix.SYS_IO_URING_SETUP, 1, nothing) },
	"io_uring_register": func() error { return raw(unix.SYS_IO_URING_REGISTER, nothing, nothing, 0) },
	"mount":             func() error { return raw(unix.SYS_MOUNT, 0, 0, nothing, 0, 0) },
	"mount_setattr": func() error {
		return raw(unix.SYS_MOUNT_SETATTR, nothing, nothing, nothing, nothing,
			nothing)
	},
	"open_tree":              func() error { return raw(unix.SYS_OPEN_TREE, nothing, nothing, 0) },
	"quotactl":               func() error { return raw(unix.SYS_QUOTACTL, nothing, nothing, 0, 0) },
	"setns":                  func() error { return raw(unix.SYS_SETNS, nothing, 0) },
	"unshare user":           func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"unshare user, high bit": func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|high) },
	"clone user":             func() error { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS) },
	"clone3":                 func() error { return raw(unix.SYS_CLONE3, nothing, 64) },
	"ptrace":                 func() error { return raw(unix.SYS_PTRACE, nothing) },
	"process_vm_readv":       func() error { return raw(unix.SYS_PROCESS_VM_READV, 1<<30) },
	"pidfd_getfd":            func() error { return raw(unix.SYS_PIDFD_GETFD, nothing, nothing, 0) },
	"perf_event_open":        func() error { return raw(unix.SYS_PERF_EVENT_OPEN, nothing) },
	"kcmp":                   func() error { return raw(unix.SYS_KCMP, 1<<30, 1<<30) },
	"TIOCSTI":                func() error { return onTerminal(unix.TIOCSTI) },
	"TIOCSTI, high bit":      func() error { return onTerminal(unix.TIOCSTI | high) },
	"TIOCLINUX":              func() error { return onTerminal(unix.TIOCLINUX) },
	"TIOCLINUX, high bit":    func() error { return onTerminal(unix.TIOCLINUX | high) },
	"socket vsock":           func() error { return raw(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM) },
	"socket vsock, high bit": func() error { return raw(unix.SYS_SOCKET, unix.AF_VSOCK|high, unix.SOCK_STREAM) },
	"socket alg":             func() error { return raw(unix.SYS_SOCKET, unix.AF_ALG, nothing) },
	"socket netlink, netfilter": func() error {
		return raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW,
			unix.NETLINK_NETFILTER)
	},
}

const keySpecSession = ^uintptr(2) // KEY_SPEC_SESSION_KEYRING, -3

// calls makes all attempts and prints how each ended.
func calls([]string) error {
	runtime.LockOSThread()
	for name, try := range attempts {
		fmt.Printf("%s: %s\n", name, outcome(try()))
	}
	return nil
}

func outcome(err error) string {
	if errno, failed := err.(unix.Errno); failed {
		return unix.ErrnoName(errno)
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// terminal opens a terminal of this process's own, which controls it, so that nothing but the request is at stake.
var terminal = sync.OnceValues(func() (int, error) {
	signal.Ignore(unix.SIGHUP)
	_, _ = unix.Setsid() // a child may lead its session already
	control, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(control, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	number, err := unix.IoctlGetUint32(control, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	theirs, err := unix.Open("/dev/pts/"+strconv.Itoa(int(number)), unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	return theirs, raw(unix.SYS_IOCTL, uintptr(theirs), unix.TIOCSCTTY, 0)
})

// onTerminal makes a request to that terminal.
func onTerminal(request uintptr) error {
	fd, err := terminal()
	if err != nil {
		return fmt.Errorf("get a terminal: %w", err)
	}
	return raw(unix.SYS_IOCTL, uintptr(fd), request, nothing)
}
