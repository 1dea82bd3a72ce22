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

// listener is told of the calls that a filter stops, one after another, and lets them go on.
type listener struct {
	fd     int
	notice func(mutation.Mutation) error
	text   [unix.PathMax]byte
	memory memory
}

// memory is that of the thread that was looked at last: calls come in runs.
type memory struct {
	thread uint32
	fd     int // -1 for none
}

// of opens a thread's memory. What is open already stays that of a program which has ended or become another one, and
// can't be read then.
func (m *memory) of(thread uint32) (err error) {
	if m.fd >= 0 && m.thread == thread {
		return nil
	}
	m.close()
	m.fd, err = unix.Open("/proc/"+strconv.Itoa(int(thread))+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if m.thread = thread; err != nil {
		m.fd = -1
		return fmt.Errorf("look at what a process asks for: %w", err)
	}
	return nil
}

// read reads what is at an address of a thread's memory.
func (m *memory) read(thread uint32, into []byte, at uint64) (int, error) {
	for again := m.fd >= 0 && m.thread == thread; ; again = false {
		if err := m.of(thread); err != nil {
			return 0, err
		}
		n, err := unix.Pread(m.fd, into, int64(at))
		if n > 0 || !again {
			return n, err
		}
		m.close() // it was another program's
	}
}

func (m *memory) close() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

// listen puts the calling thread, and what it starts from now on, behind the filter that stops changes to files, and
// tells notice of each before it is made. It ends with the last process behind the filter. A machine on which nothing
// can be noticed is told as well, as a change that is not seen.
//
// Who is stopped is the thread that makes the call, and another one may change what it has asked for before it goes on:
// this tells what a program does that does not hide it, and refuses nothing for certain.
func listen(notice func(mutation.Mutation) error) error {
	fd, err := mutationFilter().listener()
	if err != nil {
		_ = notice(mutation.Mutation{Err: fmt.Errorf("this machine does not tell of changes to files: %w", err)})
		return nil
	}
	go (&listener{fd: fd, notice: notice, memory: memory{fd: -1}}).serve()
	return nil
}

// TellsOfChanges reports whether a child can be noticed at each change to files on this machine: see [Profile.Notice].
// Older kernels can't, and neither can whoever is listened to already.
func TellsOfChanges() bool {
	tells := make(chan bool)
	onThrownAwayThread(func() {
		fd, err := -1, giveUpPrivileges()
		if err == nil {
			fd, err = mutationFilter().listener()
		}
		if err == nil {
			_ = unix.Close(fd)
		}
		tells <- err == nil
	})
	return <-tells
}

// listener sets the filter and returns the descriptor of who listens.
func (f filter) listener() (int, error) {
	if len(f) == 0 {
		return 0, errors.New("there is no filter of system calls for this architecture")
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

// stopped is a call that waits: struct seccomp_notif.
type stopped struct {
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

// goOn lets a stopped call be made, or fail with an error: struct seccomp_notif_resp.
type goOn struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

func (l *listener) serve() {
	defer func() { _ = unix.Close(l.fd) }()
	defer l.memory.close()
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
		var s stopped
		if l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&s)) != 0 {
			continue // it was killed meanwhile
		}
		answer := goOn{id: s.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if err := l.tell(&s); err != nil {
			answer.flags, answer.errno = 0, -int32(errnoOf(err))
		}
		_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // it may have been killed meanwhile
	}
}

func (l *listener) ioctl(request uint, with unsafe.Pointer) unix.Errno {
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

// errNothing says that a call changes no file that has a name.
var errNothing = errors.New("no file with a name is changed")

// tell tells of a stopped call. Its error is the listener's: the call fails with it.
func (l *listener) tell(s *stopped) error {
	c := mutationCallOf(uint32(s.call.number))
	if c == nil {
		return nil
	}
	m, err := l.look(c, s)
	switch {
	case errors.Is(err, errNothing), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP),
		errors.Is(err, unix.EFAULT):
		return nil // the call will fail
	case err != nil:
		m = mutation.Mutation{Err: err}
	}
	return l.notice(m)
}

// look reads what a call is asked for.
func (l *listener) look(c *mutationCall, s *stopped) (mutation.Mutation, error) {
	m := mutation.Mutation{Kind: c.kind, Thread: int(s.pid), Dir: c.makesDir()}
	flags := uint64(0)
	if c.flags != none {
		flags = s.call.args[c.flags]
	}
	if c.kind == mutation.Write && flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return m, errNothing // a file without a name; it may get one by a link
	}
	if c.kind == mutation.Rename && flags&unix.RENAME_EXCHANGE != 0 {
		m.Kind = mutation.Exchange
	}
	var err error
	if m.Path, err = l.name(s, c.number, c.at, c.path, c.follows(flags)); err != nil {
		if c.kind != mutation.Link || !errors.Is(err, errNothing) {
			return m, err
		}
		m.Path = "" // a file without a name gets one
	}
	if c.to != none {
		m.To, err = l.name(s, c.number, c.toAt, c.to, false)
	}
	return m, err
}

func (c *mutationCall) follows(flags uint64) bool {
	switch c.follow {
	case always:
		return true
	case unlessFlag:
		return flags&unix.AT_SYMLINK_NOFOLLOW == 0
	case ifFlag:
		return flags&unix.AT_SYMLINK_FOLLOW != 0
	case asOpened:
		return flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	}
	return false
}

// readText reads a path from a thread's memory; of a socket's address if that is where it stands.
func (l *listener) readText(thread uint32, at uint64, address bool) (string, error) {
	if address {
		var family [2]byte
		if n, err := l.memory.read(thread, family[:], at); err != nil || n < 2 || family != [2]byte{unix.AF_UNIX, 0} {
			return "", errNothing
		}
		at += 2
	}
	for n := 0; n < len(l.text); {
		page := 4096 - int((at+uint64(n))%4096) // what comes behind may not be there
		read, err := l.memory.read(thread, l.text[n:min(n+page, len(l.text))], at+uint64(n))
		switch {
		case l.memory.fd < 0:
			return "", err
		case err != nil || read == 0:
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(l.text[n:n+read], 0); end >= 0 {
			if address && n+end == 0 {
				return "", errNothing // an abstract name, or none
			}
			return string(l.text[:n+end]), nil
		}
		n += read
	}
	return "", errNothing // longer than the kernel takes
}
