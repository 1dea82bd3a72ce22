package isolation

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights to files and directories, by what a profile speaks of.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runTree  = readTree | unix.LANDLOCK_ACCESS_FS_EXECUTE

	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeTree = readTree | writeFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	// fileRights are the rights that a rule for something else than a directory may hold.
	fileRights = writeFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// handledFiles are all rights to files that a version of Landlock knows; what is handled and not allowed by a rule is
// refused. Making device nodes is never allowed.
func handledFiles(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1) // the first version's
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// rulesetAttr is the kernel's struct landlock_ruleset_attr. Kernels that know less of it insist that the rest is zero.
type rulesetAttr struct {
	files, net, scoped uint64
}

// pathBeneathAttr is the kernel's struct landlock_path_beneath_attr.
type pathBeneathAttr struct {
	allowed uint64
	parent  int32
}

// landlockABI returns the version of Landlock that the kernel has; 0 for none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// ruleset is a Landlock ruleset in the making.
type ruleset struct {
	fd      int
	handled uint64
}

// newAttributes are those of a ruleset that refuses everything that this version of Landlock can refuse: files, signals
// and abstract sockets beyond the domain, and TCP unless network is given.
func newAttributes(abi int, network bool) rulesetAttr {
	attr := rulesetAttr{files: handledFiles(abi)}
	if abi >= 4 && !network {
		attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// newRuleset makes one.
func newRuleset(attr rulesetAttr) (*ruleset, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	return &ruleset{fd: int(fd), handled: attr.files}, nil
}

// allow gives rights to a path and what is below it. A path that is not there needs none.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("confine to %s: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("confine to %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := pathBeneathAttr{allowed: rights & r.handled, parent: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("confine to %s: %w", path, errno)
	}
	return nil
}

// restrictThread confines the calling thread, and what it starts from now on, for good. The thread must have given up
// gaining privileges.
func (r *ruleset) restrictThread() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("confine by Landlock: %w", errno)
	}
	return nil
}

func (r *ruleset) close() error { return os.NewSyscallError("close", unix.Close(r.fd)) }
