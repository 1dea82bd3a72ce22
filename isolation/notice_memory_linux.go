package isolation

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// threadMemory is the open memory file of the thread whose call is inspected. It does not outlive the call: the thread
// may execute another program, and the file would still show the memory of the first.
type threadMemory struct {
	fd int // -1 for none
}

func (m *threadMemory) readAt(thread uint32, into []byte, at uint64) (n int, err error) {
	if m.fd < 0 {
		if m.fd, err = unix.Open("/proc/"+strconv.Itoa(int(thread))+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return 0, fmt.Errorf("read a system call's arguments: %w", err)
		}
	}
	return unix.Pread(m.fd, into, int64(at))
}

func (m *threadMemory) closeMemory() {
	closeDescriptor(m.fd)
	m.fd = -1
}

// memoryArgument is an argument of a call that points to memory other than a path.
type memoryArgument struct {
	number uint32 // of the call
	index  int
	size   int // in bytes; 0 for a string
	bytes  int // argument with the size instead; noArgument for none
}

var memoryArguments = slices.Concat([]memoryArgument{
	{unix.SYS_SYMLINKAT, 0, 0, noArgument},
	{unix.SYS_UTIMENSAT, 2, 2 * int(unsafe.Sizeof(unix.Timespec{})), noArgument},
	{unix.SYS_SETXATTR, 1, 0, noArgument},
	{unix.SYS_SETXATTR, 2, 0, 3},
	{unix.SYS_LSETXATTR, 1, 0, noArgument},
	{unix.SYS_LSETXATTR, 2, 0, 3},
	{unix.SYS_FSETXATTR, 1, 0, noArgument},
	{unix.SYS_FSETXATTR, 2, 0, 3},
	{unix.SYS_REMOVEXATTR, 1, 0, noArgument},
	{unix.SYS_FREMOVEXATTR, 1, 0, noArgument},
	{unix.SYS_LREMOVEXATTR, 1, 0, noArgument},
}, archMemoryArguments)

// maxMemoryArgument is the maximum size of a memory argument: the kernel's limit for an extended attribute.
const maxMemoryArgument = 64 << 10

// readMemory copies the memory that the arguments of a call point to, except paths.
func (l *mutationListener) readMemory(c *stoppedCall) error {
	for _, m := range memoryArguments {
		if m.number != c.number {
			continue
		}
		if err := l.readMemoryArgument(c, m); err != nil {
			return err
		}
	}
	return nil
}

// readMemoryArgument copies the memory that an argument points to.
func (l *mutationListener) readMemoryArgument(c *stoppedCall, m memoryArgument) error {
	size, at := m.size, c.args[m.index]
	if m.bytes != noArgument {
		size = int(min(c.args[m.bytes], maxMemoryArgument+1))
	}
	var data []byte
	switch {
	case at == 0 || m.bytes != noArgument && size == 0:
		return nil
	case size > maxMemoryArgument: // the kernel refuses the size
		c.args[m.index] = 0
		return nil
	case size == 0:
		text, err := l.readPath(c.thread, at, false)
		if err == nil && text == "" && c.kind == mutation.Make {
			err = unix.ENOENT // the target of a symlink
		}
		if err != nil {
			return err
		}
		data = append([]byte(text), 0)
	default:
		data = make([]byte, size)
		if n, err := l.memory.readAt(c.thread, data, at); err != nil || n < size {
			return unix.EFAULT
		}
	}
	if c.data == nil {
		c.data = map[int][]byte{}
	}
	c.data[m.index] = data
	return nil
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
			return string(l.text[:n+end]), nil
		}
		n += read
	}
	return "", unix.ENAMETOOLONG
}
