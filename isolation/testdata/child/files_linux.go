package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileCalls makes random calls that change files in a directory, and prints their results and the files.
func fileCalls(args []string) error {
	runtime.LockOSThread()
	dir := args[0]
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	count, _ := strconv.Atoi(args[2])
	if err := os.Chdir(dir); err != nil {
		return err
	}
	c := caller{random: rand.New(rand.NewPCG(seed, 0)), dir: dir}
	c.prepare()
	for n := range count {
		c.makeRandomCall(n)
	}
	c.printTree()
	return nil
}

// caller makes random calls.
type caller struct {
	random *rand.Rand
	dir    string
	dirs   []int // descriptors for relative paths
	files  []int // open files
}

func (c *caller) prepare() {
	unix.Umask(0o022)
	_ = os.Mkdir("d", 0o755)
	_ = os.Mkdir("d/e", 0o755)
	for _, name := range []string{"a", "d/x"} {
		_ = os.WriteFile(name, []byte("text"), 0o640)
	}
	for to, target := range map[string]string{"l": "a", "ld": "d", "gone": "nothing", "loop": "loop", "new": "d/fresh"} {
		_ = os.Symlink(target, to)
	}
	_ = unix.Mkfifo("fifo", 0o600)
	ends, _ := unix.Open("fifo", unix.O_RDWR, 0) // so that no opening blocks
	_, _ = unix.FcntlInt(uintptr(ends), unix.F_DUPFD, 50)
	sub, _ := unix.Open("d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	path, _ := unix.Open("d/e", unix.O_PATH|unix.O_DIRECTORY, 0)
	file, _ := unix.Open("a", unix.O_RDONLY, 0)
	link, _ := unix.Open("l", unix.O_PATH|unix.O_NOFOLLOW, 0)
	unnamed, _ := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
	var pipe [2]int
	_ = unix.Pipe(pipe[:])
	c.dirs = []int{unix.AT_FDCWD, unix.AT_FDCWD, unix.AT_FDCWD, sub, path, file, 99, pipe[1]}
	c.files = []int{file, link, unnamed, path, pipe[1], 99}
}

func pick[T any](c *caller, list ...T) T { return list[c.random.IntN(len(list))] }

// name returns a path in the directory or its parent. A root's calls must not reach other files of the machine, since
// Landlock allows to change modes and times anywhere. So no symlink leads upwards.
func (c *caller) name() string {
	if c.random.IntN(8) == 0 {
		return pick(c, "..", "d/..", "../outside/x", "../outside/new", "../outside")
	}
	name := pick(c, "a", "b", "d", "d/x", "d/e", "d/e/y", "l", "ld", "ld/x", "gone", "loop", "new", "d/n0", "fifo", "n1", "n2", "n3", "d/n4", "d/n5", "ld/n6",
		"missing/x", "a/x", "loop/x", ".", "", "d/.", strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("./", 2100)+"a",
		"./"+strings.Repeat("d/../", 100)+"n7", "nicht\xff\n")
	switch c.random.IntN(12) {
	case 0:
		name = pick(c, "./", "d/../", c.dir+"/", c.dir+"//") + name
	case 1:
		name = pick(c, "/proc/self/cwd/n8", "/proc/thread-self/cwd/a", "/proc/self/fd/"+strconv.Itoa(c.files[c.random.IntN(len(c.files)-1)]))
	}
	if name != "" && c.random.IntN(6) == 0 {
		name += pick(c, "/", "//", "/.")
	}
	return name
}

// openName returns a path for a call that changes no names and no metadata.
func (c *caller) openName() string {
	if c.random.IntN(16) == 0 {
		return pick(c, "/dev/null", "/dev/full", "/dev/null/", "/")
	}
	return c.name()
}

// target returns the target of a symlink, which must not lead upwards.
func (c *caller) target() string {
	return pick(c, "a", "d", "", ".", "l", "n1", "d/e/", strings.Repeat("t", 4000), strings.Repeat("t", 5000))
}

func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// textAt returns the text at an address.
func textAt(address uintptr) string {
	for _, b := range kept {
		if uintptr(unsafe.Pointer(&b[0])) == address {
			return string(b[:len(b)-1])
		}
	}
	return ""
}

// kept are the strings whose addresses are in use.
var kept [][]byte

func (c *caller) at() uintptr { return uintptr(pick(c, c.dirs...)) }

func (c *caller) mode() uintptr {
	return uintptr(pick(c, 0o600, 0o644, 0o666, 0o755, 0o777, 0, 0o1777))
}

// openFlags returns flags for a path. Links in /proc are always followed: the errors of others differ.
func (c *caller) openFlags(name string) uintptr {
	flags := pick(c, unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR)
	for _, flag := range []int{unix.O_CREAT, unix.O_CREAT, unix.O_EXCL, unix.O_TRUNC, unix.O_APPEND, unix.O_NONBLOCK, unix.O_NOFOLLOW, unix.O_DIRECTORY,
		unix.O_CLOEXEC, unix.O_NOCTTY, unix.O_PATH, unix.O_NOATIME, unix.O_SYNC, unix.O_TMPFILE} {
		if c.random.IntN(5) == 0 {
			flags |= flag
		}
	}
	if strings.HasPrefix(name, "/proc/self/fd/") {
		flags &^= unix.O_NOFOLLOW | unix.O_EXCL
	}
	return uintptr(flags)
}

func (c *caller) makeRandomCall(n int) {
	kept = kept[:0]
	if c.random.IntN(8) == 0 {
		unix.Umask(pick(c, 0, 0o022, 0o027, 0o077, 0o777))
	}
	calls := append(portableCalls(), archCalls()...)
	do := calls[c.random.IntN(len(calls))]
	number, args := do.number, do.args(c)
	var a [6]uintptr
	copy(a[:], args)
	if isMetadataCall(do.name) && slices.ContainsFunc(do.texts(a), func(name string) bool { return strings.Contains(name, "..") }) {
		return // the kernel allows it outside the directory, the monitor does not
	}
	value, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	result := fmt.Sprint(int(value))
	if errno != 0 {
		result = unix.ErrnoName(errno)
	}
	fmt.Printf("%d %s %q: %s", n, do.name, do.texts(a), result)
	if do.opens && errno == 0 {
		c.printFile(int(value))
	}
	fmt.Println()
}

func isMetadataCall(name string) bool {
	return slices.ContainsFunc([]string{"chmod", "chown", "time", "xattr"}, func(part string) bool { return strings.Contains(name, part) })
}

// printFile prints what a descriptor can do, and closes it.
func (c *caller) printFile(fd int) {
	var stat unix.Stat_t
	_ = unix.Fstat(fd, &stat)
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	onExec, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	written, writeErr := 0, error(nil)
	if stat.Mode&unix.S_IFMT == unix.S_IFREG {
		written, writeErr = unix.Write(fd, []byte("more"))
	}
	truncateErr := unix.Ftruncate(fd, 2)
	fmt.Printf(" mode %o size %d flags %o %o write %d %v truncate %v", stat.Mode, stat.Size, flags&^(unix.O_NOFOLLOW), onExec, written, writeErr, truncateErr)
	_ = unix.Close(fd)
}

func (c *caller) printTree() {
	_ = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		var stat unix.Stat_t
		_ = unix.Lstat(path, &stat)
		target, _ := os.Readlink(path)
		sum := ""
		if stat.Mode&unix.S_IFMT == unix.S_IFREG {
			content, _ := os.ReadFile(path)
			sum = fmt.Sprintf("%x", sha256.Sum256(content))[:8]
		}
		modified := stat.Mtim.Sec
		if modified > 1e9 {
			modified = 0 // now
		}
		size := stat.Size
		if d != nil && d.IsDir() {
			size = 0
		}
		fmt.Printf("%q %o %d links %d bytes %s to %q at %d %v\n", path, stat.Mode, stat.Nlink, size, sum, target, modified, err != nil)
		return nil
	})
}

// randomCall is a kind of call with random arguments.
type randomCall struct {
	name   string
	number uintptr
	args   func(c *caller) []uintptr
	opens  bool
	paths  []int // arguments that are text
}

// texts returns the arguments for printing.
func (r randomCall) texts(args [6]uintptr) []string {
	var all []string
	for n, arg := range args {
		if isIn(n, r.paths) {
			all = append(all, textAt(arg))
			continue
		}
		if arg < 1<<32 || int(arg) < 0 && int(arg) > -200 {
			all = append(all, strconv.FormatInt(int64(arg), 8))
		}
	}
	for n := range all {
		if len(all[n]) > 60 {
			all[n] = all[n][:20] + "…" + all[n][len(all[n])-20:]
		}
	}
	return all
}

func isIn(n int, list []int) bool {
	for _, one := range list {
		if one == n {
			return true
		}
	}
	return false
}

func portableCalls() []randomCall {
	const statFlags = unix.AT_SYMLINK_NOFOLLOW
	emptyOr := func(c *caller) (uintptr, uintptr, uintptr) { // directory, path, flags
		if c.random.IntN(3) == 0 {
			return uintptr(pick(c, c.files...)), text(pick(c, "", "", "a")), unix.AT_EMPTY_PATH | uintptr(pick(c, 0, unix.AT_SYMLINK_NOFOLLOW))
		}
		return c.at(), text(c.name()), uintptr(pick(c, 0, 0, unix.AT_SYMLINK_NOFOLLOW, unix.AT_SYMLINK_FOLLOW, 0x10))
	}
	open := func(c *caller) []uintptr {
		name := c.openName()
		return []uintptr{c.at(), text(name), c.openFlags(name), c.mode()}
	}
	return []randomCall{
		{"openat", unix.SYS_OPENAT, open, true, []int{1}},
		{"openat", unix.SYS_OPENAT, open, true, []int{1}},
		{"openat", unix.SYS_OPENAT, open, true, []int{1}},
		{"truncate", unix.SYS_TRUNCATE, func(c *caller) []uintptr { return []uintptr{text(c.name()), uintptr(c.random.IntN(9))} }, false, []int{0}},
		{"unlinkat", unix.SYS_UNLINKAT, func(c *caller) []uintptr {
			return []uintptr{c.at(), text(c.name()), uintptr(pick(c, 0, unix.AT_REMOVEDIR))}
		}, false, []int{1}},
		{"renameat2", unix.SYS_RENAMEAT2, func(c *caller) []uintptr {
			return []uintptr{c.at(), text(c.name()), c.at(), text(c.name()), uintptr(pick(c, 0, 0, unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE, 0x80))}
		}, false, []int{1, 3}},
		{"linkat", unix.SYS_LINKAT, func(c *caller) []uintptr {
			at, path, flags := emptyOr(c)
			return []uintptr{at, path, c.at(), text(c.name()), flags &^ unix.AT_SYMLINK_NOFOLLOW}
		}, false, []int{1, 3}},
		{"symlinkat", unix.SYS_SYMLINKAT, func(c *caller) []uintptr {
			return []uintptr{text(c.target()), c.at(), text(c.name())}
		}, false, []int{0, 2}},
		{"mkdirat", unix.SYS_MKDIRAT, func(c *caller) []uintptr { return []uintptr{c.at(), text(c.name()), c.mode()} }, false, []int{1}},
		{"mknodat", unix.SYS_MKNODAT, func(c *caller) []uintptr {
			return []uintptr{c.at(), text(c.name()), c.mode() | uintptr(pick(c, unix.S_IFREG, unix.S_IFSOCK, 0, unix.S_IFCHR, unix.S_IFBLK)), 0}
		}, false, []int{1}},
		{"fchmodat", unix.SYS_FCHMODAT, func(c *caller) []uintptr { return []uintptr{c.at(), text(c.name()), c.mode()} }, false, []int{1}},
		{"fchmodat2", unix.SYS_FCHMODAT2, func(c *caller) []uintptr {
			at, path, flags := emptyOr(c)
			return []uintptr{at, path, c.mode(), flags}
		}, false, []int{1}},
		{"fchmod", unix.SYS_FCHMOD, func(c *caller) []uintptr { return []uintptr{uintptr(pick(c, c.files...)), c.mode()} }, false, nil},
		{"fchown", unix.SYS_FCHOWN, func(c *caller) []uintptr {
			return []uintptr{uintptr(pick(c, c.files...)), ^uintptr(0), uintptr(os.Getgid())}
		}, false, nil},
		{"fsetxattr", unix.SYS_FSETXATTR, func(c *caller) []uintptr { return append([]uintptr{uintptr(pick(c, c.files...))}, xattr(c)[1:]...) }, false, []int{1}},
		{"fremovexattr", unix.SYS_FREMOVEXATTR, func(c *caller) []uintptr { return []uintptr{uintptr(pick(c, c.files...)), text("user.one")} }, false, []int{1}},
		{"fchownat", unix.SYS_FCHOWNAT, func(c *caller) []uintptr {
			at, path, flags := emptyOr(c)
			return []uintptr{at, path, ^uintptr(0), uintptr(os.Getgid()), flags}
		}, false, []int{1}},
		{"utimensat", unix.SYS_UTIMENSAT, func(c *caller) []uintptr {
			at, path, flags := emptyOr(c)
			return []uintptr{at, path, times(c, 16), flags}
		}, false, []int{1}},
		{"utimensat of a descriptor", unix.SYS_UTIMENSAT, func(c *caller) []uintptr { return []uintptr{uintptr(pick(c, c.files...)), 0, times(c, 16), 0} }, false, nil},
		{"setxattr", unix.SYS_SETXATTR, xattr, false, []int{0, 1}},
		{"lsetxattr", unix.SYS_LSETXATTR, xattr, false, []int{0, 1}},
		{"removexattr", unix.SYS_REMOVEXATTR, func(c *caller) []uintptr { return []uintptr{text(c.name()), text("user.one")} }, false, []int{0, 1}},
		{"lremovexattr", unix.SYS_LREMOVEXATTR, func(c *caller) []uintptr { return []uintptr{text(c.name()), text("user.one")} }, false, []int{0, 1}},
	}
}

func xattr(c *caller) []uintptr {
	value := strings.Repeat("v", pick(c, 0, 1, 10, 70000))
	return []uintptr{text(c.name()), text(pick(c, "user.one", "user.", "trusted.x", "", strings.Repeat("n", 300))), text(value), uintptr(len(value)), uintptr(pick(c, 0, 0, 1, 2))}
}

// times returns the address of two times of a size, or 0.
func times(c *caller, size int) uintptr {
	if c.random.IntN(4) == 0 {
		return 0
	}
	b := make([]byte, 2*size)
	b[0], b[size] = byte(1+c.random.IntN(200)), byte(1+c.random.IntN(200))
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// raceCalls changes a path in memory while calls use it: between a harmless name and a protected one.
func raceCalls(args []string) error {
	tries, _ := strconv.Atoi(args[0])
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(page, "wgit/config\x00")
	word := (*uint32)(unsafe.Pointer(&page[0]))
	harmless, protected := binary.NativeEndian.Uint32([]byte("wgit")), binary.NativeEndian.Uint32([]byte(".git"))
	go func() {
		for {
			atomic.StoreUint32(word, protected)
			atomic.StoreUint32(word, harmless)
		}
	}()
	path := uintptr(unsafe.Pointer(&page[0]))
	const cwd = ^uintptr(-unix.AT_FDCWD - 1)
	calls := [][]uintptr{
		{unix.SYS_OPENAT, cwd, path, unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, 0o600},
		{unix.SYS_RENAMEAT2, cwd, text("evil"), cwd, path, 0},
		{unix.SYS_LINKAT, cwd, text("evil"), cwd, path, 0},
		{unix.SYS_SYMLINKAT, text("evil"), cwd, path},
		{unix.SYS_MKDIRAT, cwd, path, 0o700},
	}
	for n := range tries {
		_ = os.WriteFile("evil", nil, 0o600)
		_ = os.RemoveAll("wgit/config")
		var a [7]uintptr
		copy(a[:], calls[n%len(calls)])
		fd, _, errno := unix.Syscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		if errno == 0 && a[0] == unix.SYS_OPENAT {
			_ = unix.Close(int(fd))
		}
		if _, err := os.Lstat(".git/config"); err == nil {
			fmt.Println("protected name created by call", n%len(calls), "in try", n)
			return nil
		}
	}
	return nil
}

// raceDescriptors replaces a descriptor by another while calls use it.
func raceDescriptors(args []string) error {
	tries, _ := strconv.Atoi(args[0])
	var pipe [2]int
	_ = unix.Pipe(pipe[:])
	protected, err := unix.Open(".git/config", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	const raced = 40
	_ = unix.Dup2(pipe[1], raced)
	go func() {
		for {
			_ = unix.Dup2(protected, raced)
			_ = unix.Dup2(pipe[1], raced)
		}
	}()
	for n := range tries {
		switch n % 3 {
		case 0:
			fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(raced), unix.O_WRONLY|unix.O_NONBLOCK, 0)
			if err == nil {
				_, _ = unix.Write(fd, []byte("evil"))
				_ = unix.Close(fd)
			}
		case 1:
			_ = unix.Linkat(raced, "", unix.AT_FDCWD, "hard", unix.AT_EMPTY_PATH)
		case 2:
			_ = unix.Fchmod(raced, 0o777)
		}
		_, linked := os.Lstat("hard")
		info, _ := os.Stat(".git/config")
		if info.Size() > 0 || info.Mode()&0o111 != 0 || linked == nil {
			fmt.Println("protected file reached in try", n)
			return nil
		}
	}
	return nil
}
