package isolation

import (
	"cmp"
	"errors"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// callEmulator makes system calls in place of the child that requested them. The child can change the memory of its
// arguments at any time, so the kernel must not read the arguments again after the check.
//
// The emulator's thread has the child's capabilities, Landlock rules and system call filter, so the kernel refuses the
// same calls. A call in a directory where Landlock grants everything needs no change of threads: the listener's thread
// makes it, with the child's capabilities. Both threads have their own working directory and umask.
type callEmulator struct {
	thread   *jobThread
	grants   map[string]uint64 // Landlock rights by path
	writable []string          // paths of which Landlock allows the files to be written; none without Landlock
	refers   bool              // this version of Landlock allows renames between directories
}

// newCallEmulator starts the thread of an emulator.
func newCallEmulator(r *threadRestriction) (*callEmulator, error) {
	e := &callEmulator{thread: newJobThread(), grants: r.grants, writable: r.writable}
	e.refers = r.rules != nil && r.rules.handled&unix.LANDLOCK_ACCESS_FS_REFER != 0
	started := make(chan error)
	runOnDisposableThread(func() {
		err := r.restrictThread()
		if err == nil {
			err = unshareWorkingDir()
		}
		if started <- err; err == nil {
			e.thread.runJobs()
		}
	})
	return e, <-started
}

// unshareWorkingDir gives the calling thread its own working directory and umask.
func unshareWorkingDir() error { return os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_FS)) }

// checkAttributes refuses changes of mode, owner, times and extended attributes of files that Landlock does not allow to
// be written: it does not restrict these calls itself. The sandbox contains such files for the plugin, such as the undo history.
func (e *callEmulator) checkAttributes(c *stoppedCall) error {
	if c.kind == mutation.Attribute && c.file.path != "" && len(e.writable) > 0 && !paths.WithinAny(e.writable, c.file.path) {
		if _, exists := c.file.lstat(); exists {
			return unix.EACCES
		}
	}
	return nil
}

// runCall runs f, which makes a call, on a thread with the child's rights.
func (e *callEmulator) runCall(c *stoppedCall, f func()) {
	if e.grantsEverything(c) {
		f()
		return
	}
	e.thread.runOnThread(f)
}

// grantsEverything reports whether Landlock lets the child do everything that a call may do. A call with two directories
// qualifies only if both have the same rights, and no call that may create a device.
func (e *callEmulator) grantsEverything(c *stoppedCall) bool {
	switch {
	case c.kind == mutation.Attribute: // Landlock does not restrict these
		return true
	case c.file.object >= 0, c.number == unix.SYS_MKNODAT, c.number == archMknod:
		return false
	case c.follow == followAsOpened && path.Dir(c.file.path) == "/dev":
		return c.umask < 0 && e.grants[c.file.path]&writeFile == writeFile // it exists
	}
	rights := e.rightsBelow(c.file.dir)
	return rights&writeTree == writeTree && (c.to == noArgument || c.file.dir == c.target.dir || e.refers && rights == e.rightsBelow(c.target.dir))
}

// rightsBelow returns the Landlock rights for new files in a directory.
func (e *callEmulator) rightsBelow(dir string) (rights uint64) {
	for ; len(dir) > 1; dir = path.Dir(dir) {
		rights |= e.grants[dir]
	}
	return rights | e.grants["/"]
}

// stoppedCall is a system call that waits for an answer, with copies of the memory that its arguments point to.
type stoppedCall struct {
	*mutationSyscall
	id        uint64
	thread    uint32
	args      [6]uint64
	openFlags int // of calls that open a file
	change    mutation.FileMutation
	file      fileName
	target    fileName       // the second name
	data      map[int][]byte // memory besides paths, by argument
	umask     int            // of the thread; -1 unless the call creates a file
	setgid    bool           // newStoppedCall removed the setgid bit from the mode
}

// convertDescriptorCall converts a call on an open file to one on the path of a new descriptor. Another thread can replace
// the caller's descriptor at any time.
func (c *stoppedCall) convertDescriptorCall() error {
	byPath, found := pathCalls[c.number]
	if !found || c.path != noArgument && (c.args[c.path] != 0 || c.args[c.flags] != 0) {
		return nil
	}
	proc, fd := "/proc/"+strconv.Itoa(int(c.thread)), strconv.Itoa(int(int32(c.args[c.at])))
	text, err := readProcField(proc+"/fdinfo/"+fd, "flags")
	if flags, parseErr := strconv.ParseUint(text, 8, 64); err != nil || parseErr != nil || flags&unix.O_PATH != 0 {
		return unix.EBADF
	}
	if err := c.file.openObject(proc + "/fd/" + fd); err != nil {
		return err
	}
	onFile := c.path == noArgument
	if c.mutationSyscall = findMutationCall(byPath); onFile && c.at != noArgument {
		copy(c.args[c.path+1:], []uint64{c.args[1], c.args[2], 0})
	}
	return nil
}

// explainFailure returns the error of a call that fails because of its path.
func (e *callEmulator) explainFailure(c *stoppedCall, pathError error) (err error) {
	if c.path != noArgument && !c.namesByMemory() {
		return pathError
	}
	e.thread.runOnThread(func() { err = c.argumentError(pathError) })
	return err
}

// argumentError returns the error of a call that fails because of its path: the kernel looks at some other arguments
// before. It makes the call with an empty path, or without a descriptor.
func (c *stoppedCall) argumentError(pathError error) error {
	m := newMadeCall(c)
	defer m.pin.Unpin()
	if c.flags != noArgument && c.follow != followAsOpened {
		m.args[c.flags] &^= unix.AT_EMPTY_PATH
	}
	if c.path == noArgument {
		m.args[c.at] = noDescriptor
	} else {
		m.setPath(c.at, c.path, "")
	}
	if c.to != noArgument {
		m.setPath(c.toAt, c.to, "")
	}
	if _, err := m.call(); err != unix.ENOENT && err != unix.EBADF {
		return err
	}
	return pathError
}

// madeCall is a call with arguments in this process's memory.
type madeCall struct {
	*stoppedCall
	args [6]uint64
	pin  runtime.Pinner // unpin it after the call
}

// newMadeCall returns a call without its paths.
func newMadeCall(c *stoppedCall) *madeCall {
	m := &madeCall{stoppedCall: c, args: c.args}
	for argument, b := range c.data {
		m.setMemory(argument, b)
	}
	return m
}

func (m *madeCall) setMemory(argument int, b []byte) {
	m.pin.Pin(unsafe.SliceData(b))
	m.args[argument] = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func (m *madeCall) setPath(at, argument int, path string) {
	if m.setMemory(argument, append([]byte(path), 0)); at != noArgument {
		m.args[at] = fdCWD
	}
}

func (m *madeCall) call() (int, error) {
	value, _, errno := unix.Syscall6(uintptr(m.number), uintptr(m.args[0]), uintptr(m.args[1]), uintptr(m.args[2]), uintptr(m.args[3]),
		uintptr(m.args[4]), uintptr(m.args[5]))
	if errno != 0 {
		return 0, errno
	}
	return int(value), nil
}

// makeCall makes a call and returns its result. It must run on a thread with the child's rights.
func (c *stoppedCall) makeCall() (int, error) {
	m := newMadeCall(c)
	defer m.pin.Unpin()
	if c.to != noArgument {
		name, dir, err := c.targetName()
		if err != nil {
			return 0, c.argumentError(cmp.Or(c.checkSource(), err))
		}
		defer closeDescriptor(dir)
		m.setPath(c.toAt, c.to, name)
	}
	name, object, err := c.sourceName()
	if err != nil {
		return 0, c.argumentError(err)
	}
	defer closeDescriptor(object)
	m.setPath(c.at, c.path, name)
	if c.file.object >= 0 && c.flags != noArgument { // the path leads to the object
		if m.args[c.flags] &^= unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW; c.kind == mutation.Link {
			m.args[c.flags] |= unix.AT_SYMLINK_FOLLOW
		}
	}
	defer c.setUmask()()
	if c.number == unix.SYS_TRUNCATE {
		return 0, truncateNow(name, int64(c.args[1]))
	}
	if c.setgid {
		return 0, m.keepSetgid(name)
	}
	return m.call()
}

// keepSetgid sets the mode of a directory with the setgid bit. As the filter denies this bit, an access control list sets
// the others. Where the bit is missing, it stays so: the kernel also ignores it if the group is not the caller's.
func (m *madeCall) keepSetgid(name string) error {
	const attribute, owner, group, mask, other = "system.posix_acl_access", 0x01, 0x04, 0x10, 0x20
	var info unix.Stat_t
	mode := uint32(m.args[m.path+1])
	switch err := unix.Stat(name, &info); {
	case !m.file.follow && m.file.object < 0:
		return unix.ENOSYS // the C library uses a descriptor instead
	case err == nil && info.Mode&unix.S_IFMT != unix.S_IFDIR, info.Mode&unix.S_ISGID != 0 && (info.Mode^mode)&unix.S_ISVTX != 0:
		return unix.EPERM
	case info.Mode&unix.S_ISGID == 0:
		_, err = m.call()
		return err
	}
	bits, acl := map[byte]uint32{owner: mode >> 6, mask: mode >> 3, other: mode}, make([]byte, unix.PathMax)
	n, err := unix.Getxattr(name, attribute, acl)
	if err != nil { // the directory has none
		bits[group] = mode >> 3
		const rest = "\x00\x00\x00\xff\xff\xff\xff"
		n = copy(acl, "\x02\x00\x00\x00"+"\x01"+rest+"\x04"+rest+"\x20"+rest)
	}
	for at := 4; at+8 <= n; at += 8 {
		if b, changes := bits[acl[at]]; changes {
			acl[at+2] = byte(b & 7)
		}
	}
	return unix.Setxattr(name, attribute, acl[:n], 0)
}

// truncateNow truncates a file without waiting for programs that hold a lease on it.
func truncateNow(name string, size int64) error {
	var stat unix.Stat_t
	if err := unix.Stat(name, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return unix.EISDIR
	default:
		return unix.EINVAL
	}
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeDescriptor(fd)
	return unix.Ftruncate(fd, size)
}

// AT_FDCWD and -1 as arguments.
const (
	fdCWD        = ^uint64(-unix.AT_FDCWD - 1)
	noDescriptor = ^uint64(0)
)

func closeDescriptor(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// targetName returns the second name of a call, and the descriptor of its directory if that is not the first one's.
func (c *stoppedCall) targetName() (name string, dir int, err error) {
	if c.file.object < 0 && c.file.dir == c.target.dir {
		return c.target.base, -1, nil
	}
	if err = enterDir(c.target.dir); err != nil {
		return "", -1, err
	}
	if strings.HasPrefix(c.target.base, "/") { // the root
		return c.target.base, -1, nil
	}
	dir, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return descriptorPath(dir) + "/" + c.target.base, dir, err
}

// sourceName enters the directory of the first name of a call, and returns the name there. If the call follows symlinks, it
// returns a path of the opened object, so that a new symlink at the name has no effect.
func (c *stoppedCall) sourceName() (name string, object int, err error) {
	if c.file.object >= 0 {
		return descriptorPath(c.file.object), -1, nil
	}
	if err = enterDir(c.file.dir); err != nil {
		return "", -1, err
	}
	if err = c.file.checkDirEnding(); err != nil || !c.file.follow {
		return c.file.base, -1, err
	}
	object, err = unix.Open(c.file.base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return descriptorPath(object), object, err
}

func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// checkDirEnding returns an error if the path ends like a directory's and names another file in the working directory.
func (n fileName) checkDirEnding() error {
	if !n.mustBeDir {
		return nil
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(unix.AT_FDCWD, n.base, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return nil
}

// setUmask sets the umask of the calling thread to the caller's, if the call needs it.
func (c *stoppedCall) setUmask() (reset func()) {
	if c.umask < 0 {
		return func() {}
	}
	own := unix.Umask(c.umask)
	return func() { unix.Umask(own) }
}

// enterDir makes dir the working directory of the calling thread, without following symlinks.
func enterDir(dir string) error {
	if isWorkingDir(dir) {
		return nil
	}
	if err := unix.Chdir(dir); err != nil || isWorkingDir(dir) {
		return err
	}
	// A symlink was created, or the file system ignores case.
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		fd, err := unix.Open(part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		err = unix.Fchdir(fd)
		if _ = unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

// isWorkingDir reports whether dir is the working directory of the calling thread.
func isWorkingDir(dir string) bool {
	var buffer [unix.PathMax]byte
	n, err := unix.Getcwd(buffer[:])
	return err == nil && string(buffer[:n-1]) == dir
}

// emulateCall makes a call, and returns its result. errAnswered means that the answer is or will be sent.
func (l *mutationListener) emulateCall(c *stoppedCall) (value int, err error) {
	if c.follow != followAsOpened {
		if err = l.checkFileSize(c); err != nil {
			return 0, err
		}
		l.emulator.runCall(c, func() { value, err = c.makeCall() })
		return value, err
	}
	return l.emulateOpen(c)
}

// errAnswered means that a call has its answer already.
var errAnswered = errors.New("the call is answered")

// checkFileSize applies the caller's limit of the size of files to truncate.
func (l *mutationListener) checkFileSize(c *stoppedCall) error {
	if c.number != unix.SYS_TRUNCATE {
		return nil
	}
	var stat unix.Stat_t
	for _, process := range []int{int(c.thread), 0} {
		var limit unix.Rlimit
		err := unix.Prlimit(process, unix.RLIMIT_FSIZE, nil, &limit)
		if err == nil && int64(c.args[1]) > 0 && c.args[1] > limit.Cur && unix.Stat(c.change.Path, &stat) == nil && uint64(stat.Size) < c.args[1] {
			_ = unix.Tgkill(callerProcess(c.thread), int(c.thread), unix.SIGXFSZ)
			return unix.EFBIG
		}
	}
	return nil
}

// callerProcess returns the process id of a thread, or 0.
func callerProcess(thread uint32) int {
	text, _ := processIDOfThread(thread)
	process, _ := strconv.Atoi(text)
	return process
}

// readUmask returns the umask of a thread.
func readUmask(thread uint32) (int, error) {
	text, err := readProcField("/proc/"+strconv.Itoa(int(thread))+"/status", "Umask")
	if err != nil {
		return 0, err
	}
	umask, err := strconv.ParseUint(text, 8, 32)
	return int(umask), err
}
