package isolation

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// mutationListener reports the system calls that a mutation filter stops, and lets them continue.
type mutationListener struct {
	fd     int
	notice func(mutation.FileMutation) error
	text   [unix.PathMax]byte
	memory threadMemoryFile
	read   []readArgument // of the current call
}

// readArgument is a path that was read from a thread's memory.
type readArgument struct {
	at   uint64
	text string
}

// threadMemoryFile is the open memory file of the last inspected thread. Often the next call comes from the same thread.
type threadMemoryFile struct {
	thread uint32
	fd     int // -1 for none
}

// openThreadMemory opens a thread's memory in /proc. The file becomes unreadable when the program ends or executes
// another.
func (m *threadMemoryFile) openThreadMemory(thread uint32) (err error) {
	if m.fd >= 0 && m.thread == thread {
		return nil
	}
	m.closeMemory()
	m.fd, err = unix.Open("/proc/"+strconv.Itoa(int(thread))+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if m.thread = thread; err != nil {
		m.fd = -1
		return fmt.Errorf("read a system call's arguments: %w", err)
	}
	return nil
}

// readAt reads from a thread's memory, and reopens the memory if the thread executes another program now.
func (m *threadMemoryFile) readAt(thread uint32, into []byte, at uint64) (int, error) {
	for again := m.fd >= 0 && m.thread == thread; ; again = false {
		if err := m.openThreadMemory(thread); err != nil {
			return 0, err
		}
		n, err := unix.Pread(m.fd, into, int64(at))
		if n > 0 || !again {
			return n, err
		}
		m.closeMemory() // it was another program's
	}
}

func (m *threadMemoryFile) closeMemory() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

// listenMutations applies the mutation filter to the calling thread and its children. It passes each change to notice
// before the kernel makes it, until the last process ends. If the filter is unavailable, notice gets one FileMutation
// with Err.
//
// Another thread can change a path after the check. The path is read again before the call continues, which detects
// most attempts, so this works for cooperating programs, and others are soon found out.
func listenMutations(notice func(mutation.FileMutation) error) error {
	fd, err := mutationFilter().installListener()
	if err != nil {
		_ = notice(mutation.FileMutation{Err: fmt.Errorf("this machine does not tell of changes to files: %w", err)})
		return nil
	}
	go (&mutationListener{fd: fd, notice: notice, memory: threadMemoryFile{fd: -1}}).serveCalls()
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

func (l *mutationListener) serveCalls() {
	defer func() { _ = unix.Close(l.fd) }()
	defer l.memory.closeMemory()
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
		answer := seccompResponse{id: s.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if err := l.reportStoppedCall(&s); err != nil {
			answer.flags, answer.errno = 0, -int32(errnoOf(err))
		}
		_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // it may have been killed meanwhile
	}
}

func (l *mutationListener) ioctl(request uint, with unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), uintptr(request), uintptr(with))
	return errno
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

// reportStoppedCall reports a stopped call. If it returns an error, the call fails with it.
func (l *mutationListener) reportStoppedCall(s *seccompNotification) error {
	c := findMutationCall(uint32(s.call.number))
	if c == nil {
		return nil
	}
	l.read = l.read[:0]
	m, err := l.decodeCall(c, s)
	switch {
	case errors.Is(err, errNoNamedFile), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP),
		errors.Is(err, unix.EFAULT):
		return nil // the call will fail
	case err != nil:
		m = mutation.FileMutation{Err: err}
	}
	if err = l.notice(m); err == nil && l.anyArgumentChanged(s.pid) {
		return l.notice(mutation.FileMutation{Thread: int(s.pid), Err: mutation.ErrPathChanged})
	}
	return err
}

// anyArgumentChanged reports whether a path in the thread's memory differs from what was checked.
func (l *mutationListener) anyArgumentChanged(thread uint32) bool {
	for _, a := range l.read {
		now := l.text[:len(a.text)+1]
		if n, err := l.memory.readAt(thread, now, a.at); err != nil || n < len(now) || string(now) != a.text+"\x00" {
			return true
		}
	}
	return false
}

// decodeCall returns the change that a stopped call makes.
func (l *mutationListener) decodeCall(c *mutationSyscall, s *seccompNotification) (mutation.FileMutation, error) {
	m := mutation.FileMutation{Kind: c.kind, Thread: int(s.pid), Dir: c.makesDir()}
	flags := uint64(0)
	if c.flags != noArgument {
		flags = s.call.args[c.flags]
	}
	if c.kind == mutation.Write && flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return m, errNoNamedFile // a file without a name; it may get one by a link
	}
	if c.kind == mutation.Rename && flags&unix.RENAME_EXCHANGE != 0 {
		m.Kind = mutation.Exchange
	}
	var err error
	if m.Path, err = l.resolvePath(s, c.number, c.at, c.path, c.followsLinks(flags)); err != nil {
		if c.kind != mutation.Link || !errors.Is(err, errNoNamedFile) {
			return m, err
		}
		m.Path = "" // a file without a name gets one
	}
	if c.to != noArgument {
		m.To, err = l.resolvePath(s, c.number, c.toAt, c.to, false)
	}
	return m, err
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

// readPath reads a path, or the path of a socket address, from a thread's memory.
func (l *mutationListener) readPath(thread uint32, at uint64, address bool) (string, error) {
	if address {
		var family [2]byte
		if n, err := l.memory.readAt(thread, family[:], at); err != nil || n < 2 || family != [2]byte{unix.AF_UNIX, 0} {
			return "", errNoNamedFile
		}
		at += 2
	}
	for n := 0; n < len(l.text); {
		page := 4096 - int((at+uint64(n))%4096) // what comes behind may not be there
		read, err := l.memory.readAt(thread, l.text[n:min(n+page, len(l.text))], at+uint64(n))
		switch {
		case l.memory.fd < 0:
			return "", err
		case err != nil || read == 0:
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(l.text[n:n+read], 0); end >= 0 {
			if address && n+end == 0 {
				return "", errNoNamedFile // an abstract name, or none
			}
			text := string(l.text[:n+end])
			l.read = append(l.read, readArgument{at, text})
			return text, nil
		}
		n += read
	}
	return "", errNoNamedFile // longer than the kernel takes
}
