package isolation

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openFile opens the file of a call without blocking. If the call has to wait, it returns the file that it waits for. It
// must run on the emulator's thread.
func (c *stoppedCall) openFile() (fd int, wait *blockedOpen, err error) {
	name, flags := c.file.base, c.openFlags|emulatedOpenFlags
	if c.file.object >= 0 {
		name = descriptorPath(c.file.object)
	} else {
		if err = c.enterDirToOpen(); err != nil {
			return -1, nil, c.argumentError(err)
		}
		flags |= unix.O_NOFOLLOW
	}
	defer c.setUmask()()
	fd, err = unix.Openat(unix.AT_FDCWD, name, flags, uint32(c.args[c.modeArgument()]))
	if c.openFlags&(unix.O_NONBLOCK|unix.O_PATH) != 0 {
		return fd, nil, err
	}
	if err == unix.ENXIO {
		var stat unix.Stat_t
		at, pathErr := unix.Open(name, flags&unix.O_NOFOLLOW|unix.O_PATH|unix.O_CLOEXEC, 0)
		if pathErr == nil && unix.Fstat(at, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO {
			return -1, &blockedOpen{fd: at, flags: c.openFlags}, nil
		}
		closeDescriptor(at)
	}
	if err == nil {
		err = setStatusFlags(fd, c.openFlags)
	}
	return fd, nil, err
}

// enterDirToOpen enters the directory of the file to be opened, and checks the end of its path.
func (c *stoppedCall) enterDirToOpen() error {
	if err := enterDir(c.file.dir); err != nil {
		return err
	}
	if c.file.mustBeDir && c.openFlags&unix.O_CREAT != 0 {
		return unix.EISDIR
	}
	return c.file.checkDirEnding()
}

// emulatedOpenFlags are added to the flags of a call. setStatusFlags resets O_NONBLOCK, and the descriptor in the child
// has the child's O_CLOEXEC.
const emulatedOpenFlags = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// setStatusFlags sets the status flags of an open file, or closes it.
func setStatusFlags(fd, flags int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
	if err != nil {
		_ = unix.Close(fd)
	}
	return err
}

// blockedOpen is a FIFO without a reader, which can't be opened yet. Opening a FIFO for reading with O_CREAT does not wait
// for a writer; without O_CREAT the kernel opens it. Files with a lease give EAGAIN at once.
type blockedOpen struct {
	fd    int // opened with O_PATH
	flags int
}

// retry tries to open the file again. It must run on the emulator's thread.
func (w *blockedOpen) retry() (fd int, ready bool, err error) {
	const creation = unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW
	fd, err = unix.Open(descriptorPath(w.fd), w.flags&^creation|emulatedOpenFlags, 0)
	if err == unix.ENXIO {
		return -1, false, nil
	}
	if err == nil {
		err = setStatusFlags(fd, w.flags)
	}
	return fd, true, err
}

func (c *stoppedCall) modeArgument() int {
	if c.flags == noArgument { // creat
		return c.path + 1
	}
	return c.flags + 1
}

// minOpenPause and maxOpenPause limit the pause between two attempts to open a file that blocks.
const minOpenPause, maxOpenPause = 5 * time.Millisecond, 100 * time.Millisecond

// emulateOpen opens the file of a call and gives it to the caller.
func (l *mutationListener) emulateOpen(c *stoppedCall) (int, error) {
	if c.openFlags&(unix.O_CREAT|unix.O_TRUNC) != 0 && hasMaxDescriptors(c.thread) {
		return 0, unix.EMFILE
	}
	if c.file.path == "/dev/tty" {
		return l.openTerminal(c)
	}
	syscall.ForkLock.RLock() // a new child of this process must not keep the file open for writing
	defer syscall.ForkLock.RUnlock()
	var fd int
	var wait *blockedOpen
	var err error
	l.emulator.runCall(c, func() { fd, wait, err = c.openFile() })
	switch {
	case err != nil:
		return 0, err
	case wait != nil:
		l.waiting.Add(1)
		go l.awaitOpen(c, wait)
		return 0, errAnswered
	}
	return l.sendDescriptor(c, fd)
}

// openTerminal opens the caller's controlling terminal. For this process, /dev/tty would be another terminal.
func (l *mutationListener) openTerminal(c *stoppedCall) (int, error) {
	proc := "/proc/" + strconv.Itoa(int(c.thread))
	device := controllingTerminal(proc)
	if device == 0 {
		return 0, unix.ENXIO
	}
	var err error
	l.emulator.thread.runOnThread(func() { err = openAndClose(c.file.path) })
	if err == unix.EACCES {
		return 0, err
	}
	var stat unix.Stat_t
	for _, path := range []string{proc + "/fd/0", proc + "/fd/1", proc + "/fd/2", "/dev/pts/" + strconv.Itoa(int(unix.Minor(device)))} {
		if unix.Stat(path, &stat) != nil || stat.Rdev != device {
			continue
		}
		c.file.closeObject()
		if err := c.file.openObject(path); err != nil {
			return 0, err
		}
		if unix.Fstat(c.file.object, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != device {
			continue // the caller replaced the descriptor
		}
		fd, _, err := c.openFile()
		if err != nil {
			return 0, err
		}
		return l.sendDescriptor(c, fd)
	}
	return 0, unix.EACCES
}

// openAndClose opens a terminal for reading and closes it.
func openAndClose(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|emulatedOpenFlags, 0)
	closeDescriptor(fd)
	return err
}

// controllingTerminal returns the device number of the controlling terminal of a process, by its directory in /proc; 0
// for none.
func controllingTerminal(proc string) uint64 {
	stat, _ := os.ReadFile(proc + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const terminal = 4 // after the state, the parent, the group and the session
	if len(fields) <= terminal {
		return 0
	}
	number, _ := strconv.ParseInt(fields[terminal], 10, 32)
	n := uint32(number)
	return unix.Mkdev(n>>8&0xfff, n&0xff|n>>12&0xfff00)
}

// awaitOpen answers an open call when its file can be opened, and gives up when the caller is killed.
func (l *mutationListener) awaitOpen(c *stoppedCall, wait *blockedOpen) {
	defer l.waiting.Done()
	defer closeDescriptor(wait.fd)
	for pause := minOpenPause; l.isWaiting(c.id) && !l.retryOpen(c, wait); pause = min(2*pause, maxOpenPause) {
		time.Sleep(pause)
	}
}

// retryOpen answers an open call if its file can be opened now.
func (l *mutationListener) retryOpen(c *stoppedCall, wait *blockedOpen) (answered bool) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var fd, value int
	var err error
	l.emulator.thread.runOnThread(func() { fd, answered, err = wait.retry() })
	if !answered {
		return false
	}
	if err == nil {
		value, err = l.sendDescriptor(c, fd)
	}
	l.sendAnswer(c.id, value, err)
	return true
}

// descriptorInjection is the kernel's struct seccomp_notif_addfd.
type descriptorInjection struct {
	id                           uint64
	flags, source, target, onNew uint32
}

// sendDescriptor moves an open file into the calling process.
func (l *mutationListener) sendDescriptor(c *stoppedCall, fd int) (int, error) {
	defer func() { closeDescriptor(fd) }()
	injection := descriptorInjection{id: c.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd), onNew: uint32(c.openFlags & unix.O_CLOEXEC)}
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&0o111 != 0 { // the caller may execute it soon, which fails while it is open here
		injection.flags = 0
	}
	value, errno := l.ioctlValue(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&injection))
	switch {
	case errno == unix.ENOENT:
		return 0, errAnswered // the caller was killed
	case errno != 0:
		return 0, errno
	case injection.flags != 0:
		return 0, errAnswered
	}
	return value, nil
}

// isWaiting reports whether a call still waits for its answer.
func (l *mutationListener) isWaiting(id uint64) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == 0
}

// hasMaxDescriptors reports whether a process has as many descriptors as it may have. Kernels before 6.2 do not tell.
func hasMaxDescriptors(thread uint32) bool {
	var limit unix.Rlimit
	var stat unix.Stat_t
	return unix.Prlimit(int(thread), unix.RLIMIT_NOFILE, nil, &limit) == nil &&
		unix.Stat("/proc/"+strconv.Itoa(int(thread))+"/fd", &stat) == nil && uint64(stat.Size) >= limit.Cur
}
