package isolation

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// mutationListener reports the system calls that a mutation filter stops, and makes them.
type mutationListener struct {
	fd       int
	notice   func(mutation.FileMutation) error
	emulator *callEmulator
	text     [unix.PathMax]byte
	memory   threadMemory
	waiting  sync.WaitGroup // for files that block
	calls    *sync.Mutex    // held from the check of a call to its end; shared by all listeners of this process
}

// listenMutations applies the mutation filter to the calling thread and its children. It passes each change to notice
// and then makes it, until the last process ends. If the filter is unavailable, notice gets one FileMutation with Err.
//
// restriction is the one of the calling thread.
func listenMutations(notice func(mutation.FileMutation) error, restriction *threadRestriction, calls *sync.Mutex) error {
	emulator, err := newCallEmulator(restriction)
	if err != nil {
		return err
	}
	fd, err := mutationFilter().installListener()
	if err != nil {
		emulator.thread.stopThread()
		_ = notice(mutation.FileMutation{Err: fmt.Errorf("this machine does not tell of changes to files: %w", err)})
		return nil
	}
	l := &mutationListener{fd: fd, notice: notice, emulator: emulator, memory: threadMemory{fd: -1}, calls: calls}
	runOnDisposableThread(l.serveCalls)
	return nil
}

// CanNoticeChanges reports whether [Profile.Notice] works in this process. Older kernels lack it, and so do processes
// that are observed themselves.
func CanNoticeChanges() bool {
	tells := make(chan bool)
	runOnDisposableThread(func() {
		fd, err := -1, setNoNewPrivileges()
		if err == nil {
			fd, err = mutationFilter().installListener()
		}
		if err == nil {
			_ = unix.Close(fd)
		}
		tells <- err == nil
	})
	return <-tells
}

// installListener applies the filter to the calling thread, and returns the descriptor with the stopped calls.
func (f syscallFilter) installListener() (int, error) {
	if len(f) == 0 {
		return 0, errors.New("there is no seccomp filter for this architecture")
	}
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, fmt.Errorf("listen to system calls: %w", errno)
	}
	// Both sides take turns, so the one that is woken may as well run where the other did. Older kernels can't.
	_ = unix.IoctlSetInt(int(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	return int(fd), nil
}

// seccompNotification is a system call that waits for an answer: the kernel's struct seccomp_notif.
type seccompNotification struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	call  struct {
		number int32
		arch   uint32
		at     uint64
		args   [6]uint64
	}
}

// seccompResponse lets a stopped call continue or fail: the kernel's struct seccomp_notif_resp.
type seccompResponse struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// serveCalls answers the stopped calls until no process is behind the filter. It changes the calling thread, which must
// end afterwards.
func (l *mutationListener) serveCalls() {
	blockSignals() // one during SECCOMP_IOCTL_NOTIF_ADDFD would make the call return a wrong descriptor
	if errors.Join(dropCapabilities(), unshareWorkingDir()) != nil {
		l.emulator.grants = nil
	}
	defer l.emulator.thread.stopThread()
	defer func() { _ = unix.Close(l.fd) }()
	defer l.waiting.Wait()
	for {
		ready := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents != 0 {
				return // nobody is behind the filter any more
			}
			continue
		}
		var s seccompNotification
		if l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&s)) != 0 {
			continue // it was killed meanwhile
		}
		value, err := l.handleCall(&s)
		l.sendAnswer(s.id, value, err)
	}
}

// blockSignals blocks all signals on the calling thread.
func blockSignals() {
	var all unix.Sigset_t
	for n := range all.Val {
		all.Val[n] = ^all.Val[0]
	}
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// sendAnswer lets a stopped call return.
func (l *mutationListener) sendAnswer(id uint64, value int, err error) {
	answer := seccompResponse{id: id, value: int64(value)}
	switch {
	case errors.Is(err, errAnswered):
		return
	case errors.Is(err, errContinue):
		answer.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	case err != nil:
		answer.value, answer.errno = 0, -int32(errnoOf(err))
	}
	_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // it may have been killed meanwhile
}

func (l *mutationListener) ioctl(request uint, with unsafe.Pointer) unix.Errno {
	_, errno := l.ioctlValue(request, with)
	return errno
}

func (l *mutationListener) ioctlValue(request uint, with unsafe.Pointer) (int, unix.Errno) {
	value, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), uintptr(request), uintptr(with))
	return int(value), errno
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EPERM
}

// errNoNamedFile means that a call changes no file with a name.
var errNoNamedFile = errors.New("no file with a name is changed")

// errContinue means that the kernel makes the call itself: no memory of the caller decides which file it changes.
var errContinue = errors.New("the call continues")

// handleCall reports a stopped call and makes it. It returns the call's result.
func (l *mutationListener) handleCall(s *seccompNotification) (value int, err error) {
	l.calls.Lock()
	defer l.calls.Unlock()
	c := newStoppedCall(s)
	if c == nil {
		return 0, errContinue
	}
	defer l.memory.closeMemory()
	defer func() {
		if c.file.closeObject(); c.setgid && errors.Is(err, errContinue) { // the kernel would set the bit
			err = unix.EPERM
		}
	}()
	if err = l.readMemory(c); err != nil {
		return 0, err
	}
	err = c.convertDescriptorCall()
	if err == nil {
		err = l.decodeCall(c)
	}
	if err == nil {
		err = c.checkProcFile()
	}
	if err != nil {
		return 0, l.answerUnknown(c, err)
	}
	if err = l.emulator.checkAttributes(c); err != nil {
		return 0, err
	}
	if c.isNoticed() {
		if err = l.notice(c.change); err != nil {
			return 0, err
		}
	}
	if !c.namesByMemory() {
		return 0, errContinue
	}
	value, err = l.emulateCall(c)
	l.reportFailure(c, err)
	return value, err
}

// isNoticed reports whether the change of a call is reported: it changes a name, or a file with a name.
func (c *stoppedCall) isNoticed() bool { return c.change.Path != "" || c.kind == mutation.Link }

// reportFailure reports that a call failed after its change was reported.
func (l *mutationListener) reportFailure(c *stoppedCall, err error) {
	var errno unix.Errno
	if c.isNoticed() && errors.As(err, &errno) {
		_ = l.notice(mutation.FileMutation{Kind: mutation.Failed, Thread: int(c.thread)})
	}
}

// newStoppedCall returns the call of a notification, or nil if it changes no file.
func newStoppedCall(s *seccompNotification) *stoppedCall {
	found := findMutationCall(uint32(s.call.number))
	if found == nil {
		return nil
	}
	c := &stoppedCall{mutationSyscall: found, id: s.id, thread: s.pid, args: s.call.args, umask: -1}
	c.file.object = -1
	if mode := &c.args[max(c.at, c.path)+1]; c.setsMode() {
		c.setgid = *mode&unix.S_ISGID != 0
		*mode &^= unix.S_ISGID
	}
	if c.follow == followAsOpened && c.flags != noArgument && c.args[c.flags]&unix.O_PATH != 0 {
		return nil // it opens a file neither for reading nor for writing
	}
	return c
}

// checkProcFile refuses to open files in /proc as Landlock refuses it to the caller. What this process could open there
// is not the caller's.
func (c *stoppedCall) checkProcFile() error {
	if c.follow != followAsOpened || c.file.object >= 0 || !paths.Within("/proc", c.file.path) {
		return nil
	}
	if strings.HasSuffix(c.file.base, "/") {
		return unix.EISDIR
	}
	if _, exists := c.file.lstat(); !exists {
		return unix.ENOENT
	}
	return unix.EACCES
}

// answerUnknown returns the answer to a call whose change is unknown: the call fails because of its path or descriptor,
// changes no file with a name, or can't be inspected.
func (l *mutationListener) answerUnknown(c *stoppedCall, reason error) error {
	var errno unix.Errno
	switch {
	case !l.isWaiting(c.id): // the caller was killed, which may be the reason
		return errAnswered
	case errors.Is(reason, errNoNamedFile) && !c.namesByMemory():
		return errContinue
	case errors.As(reason, &errno):
		return l.emulator.explainFailure(c, errno)
	}
	if err := l.notice(mutation.FileMutation{Thread: int(c.thread), Err: reason}); err != nil {
		return err
	}
	return errContinue
}

// namesByMemory reports whether a path in the caller's memory says which file a call changes. It excludes bind: a
// socket at a protected name is harmless, and only the caller can bind its own socket.
func (c *stoppedCall) namesByMemory() bool {
	return c.number != unix.SYS_BIND && (c.file.object >= 0 || c.path != noArgument && c.args[c.path] != 0)
}

// decodeCall reads the arguments of a stopped call, and finds out which change it makes.
func (l *mutationListener) decodeCall(c *stoppedCall) (err error) {
	c.change = mutation.FileMutation{Kind: c.kind, Thread: int(c.thread), Dir: c.makesDir()}
	flags := uint64(0)
	if c.flags != noArgument {
		flags = c.args[c.flags]
	}
	if c.kind == mutation.Rename && flags&unix.RENAME_WHITEOUT != 0 {
		return unix.EINVAL // as on a file system without whiteouts, which undo could not take back
	}
	if c.kind == mutation.Rename && flags&unix.RENAME_EXCHANGE != 0 {
		c.change.Kind = mutation.Exchange
	}
	if c.follow == followAsOpened {
		if c.openFlags = int(int32(flags)); c.flags == noArgument { // creat
			c.openFlags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
		}
	}
	mode := nameMode{entry: c.changesEntry(), follow: c.followsLinks(flags)}
	mode.emptyPath = (c.follow == followUnlessFlag || c.follow == followIfFlag) && flags&unix.AT_EMPTY_PATH != 0
	if c.file.object < 0 {
		if c.file, err = l.resolveName(c, c.at, c.path, mode); err != nil {
			return err
		}
	}
	if c.to != noArgument {
		if c.target, err = l.resolveName(c, c.toAt, c.to, nameMode{entry: true}); err != nil {
			return cmp.Or(c.checkSource(), err)
		}
	}
	c.change.Path, c.change.To = c.file.path, c.target.path
	switch {
	case c.kind == mutation.Write && c.openFlags&unix.O_TMPFILE == unix.O_TMPFILE:
		c.change.Path = "" // a file without a name; it may get one by a link
		c.umask, err = readUmask(c.thread)
	case c.number != unix.SYS_BIND && c.createsWithMode():
		c.umask, err = readUmask(c.thread)
	}
	return err
}

// checkSource returns the error for the first name of a call. The kernel looks at it before it looks at the second.
func (c *stoppedCall) checkSource() error {
	switch {
	case c.file.object >= 0:
		return nil
	case c.kind != mutation.Link:
		return checkDir(c.file.dir)
	}
	if c.file.mustBeDir {
		return checkDir(c.file.path)
	}
	var stat unix.Stat_t
	return unix.Lstat(c.file.path, &stat)
}

// changesEntry reports whether a call creates or removes a directory entry. Open calls are no such calls.
func (c *stoppedCall) changesEntry() bool {
	return c.kind == mutation.Make || c.kind == mutation.Remove || c.kind == mutation.Rename
}

// createsWithMode reports whether a call creates a file whose mode depends on the umask.
func (c *stoppedCall) createsWithMode() bool {
	if c.kind == mutation.Write {
		_, exists := c.file.lstat()
		return c.openFlags&unix.O_CREAT != 0 && !exists
	}
	return c.kind == mutation.Make
}

func (c *mutationSyscall) followsLinks(flags uint64) bool {
	switch c.follow {
	case alwaysFollow:
		return true
	case followUnlessFlag:
		return flags&unix.AT_SYMLINK_NOFOLLOW == 0
	case followIfFlag:
		return flags&unix.AT_SYMLINK_FOLLOW != 0
	case followAsOpened:
		return flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	}
	return false
}
