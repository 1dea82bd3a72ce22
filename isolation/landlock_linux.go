package isolation

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock rights for files, whole directories, and programs.
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

// handledFileRights returns all file rights that a Landlock version can deny. Every handled right is denied unless a
// rule grants it. No rule grants the creation of device nodes.
func handledFileRights(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1) // the first version's
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// landlockRulesetAttr is the kernel's struct landlock_ruleset_attr. Older kernels require zero in fields they do not know.
type landlockRulesetAttr struct {
	files, net, scoped uint64
}

// landlockPathBeneathAttr is the kernel's struct landlock_path_beneath_attr.
type landlockPathBeneathAttr struct {
	allowed uint64
	parent  int32
}

// landlockABI returns the kernel's Landlock version; 0 for none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// landlockRuleset is a Landlock ruleset that can still be extended.
type landlockRuleset struct {
	fd      int
	handled uint64
}

// newRulesetAttr returns attributes that deny everything this Landlock version can: file access, signals and abstract
// sockets outside the domain, and TCP if network is false.
func newRulesetAttr(abi int, network bool) landlockRulesetAttr {
	attr := landlockRulesetAttr{files: handledFileRights(abi)}
	if abi >= 4 && !network {
		attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// newLandlockRuleset creates a ruleset without rules, which grants nothing.
func newLandlockRuleset(attr landlockRulesetAttr) (*landlockRuleset, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	return &landlockRuleset{fd: int(fd), handled: attr.files}, nil
}

// allowPath grants rights to a path and everything below. It ignores missing paths.
func (r *landlockRuleset) allowPath(path string, rights uint64) error {
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
	rights &= r.handled
	if rights == 0 { // a right to list, and a file
		return nil
	}
	attr := landlockPathBeneathAttr{allowed: rights, parent: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("confine to %s: %w", path, errno)
	}
	return nil
}

// applyToThread confines the calling thread and its children permanently. The thread must have set no_new_privs. It does
// nothing without a ruleset.
func (r *landlockRuleset) applyToThread() error {
	if r == nil {
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("confine by Landlock: %w", errno)
	}
	return nil
}

func (r *landlockRuleset) closeFD() error { return os.NewSyscallError("close", unix.Close(r.fd)) }
