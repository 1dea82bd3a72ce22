package isolation

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// mutationSyscall describes a system call that changes a file or its name. Except number, kind and follow, the fields are
// argument indexes or noArgument.
type mutationSyscall struct {
	number uint32
	kind   mutation.Kind
	at     int // directory of path, or the file itself
	path   int
	toAt   int // the same for the second name
	to     int
	flags  int
	follow linkFollowMode
}

// noArgument means that a call has no such argument.
const noArgument = -1

// linkFollowMode says whether a call follows a symlink in the last component of its path.
type linkFollowMode int

const (
	neverFollow linkFollowMode = iota
	alwaysFollow
	followUnlessFlag // AT_SYMLINK_NOFOLLOW
	followIfFlag     // AT_SYMLINK_FOLLOW
	followAsOpened   // by the open flags
)

// writeFlags are the open flags that may change a file.
const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// mutationCalls are the calls that change files. Most calls on open descriptors are missing: the listener noticed when
// these were opened.
var mutationCalls = slices.Concat([]mutationSyscall{
	{unix.SYS_OPENAT, mutation.Write, 0, 1, noArgument, noArgument, 2, followAsOpened},
	{unix.SYS_TRUNCATE, mutation.Write, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_UNLINKAT, mutation.Remove, 0, 1, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_RENAMEAT2, mutation.Rename, 0, 1, 2, 3, 4, neverFollow},
	{unix.SYS_LINKAT, mutation.Link, 0, 1, 2, 3, 4, followIfFlag},
	{unix.SYS_SYMLINKAT, mutation.Make, 1, 2, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_MKDIRAT, mutation.Make, 0, 1, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_MKNODAT, mutation.Make, 0, 1, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_BIND, mutation.Make, noArgument, 1, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_FCHMOD, mutation.Attribute, 0, noArgument, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_FCHMODAT, mutation.Attribute, 0, 1, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_FCHMODAT2, mutation.Attribute, 0, 1, noArgument, noArgument, 3, followUnlessFlag},
	{unix.SYS_FCHOWN, mutation.Attribute, 0, noArgument, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_FCHOWNAT, mutation.Attribute, 0, 1, noArgument, noArgument, 4, followUnlessFlag},
	{unix.SYS_UTIMENSAT, mutation.Attribute, 0, 1, noArgument, noArgument, 3, followUnlessFlag},
	{unix.SYS_SETXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_LSETXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_FSETXATTR, mutation.Attribute, 0, noArgument, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_REMOVEXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_LREMOVEXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_FREMOVEXATTR, mutation.Attribute, 0, noArgument, noArgument, noArgument, noArgument, alwaysFollow},
}, archMutationCalls)

// pathCalls are the calls that do by a path what others do to an open file.
var pathCalls = map[uint32]uint32{
	unix.SYS_FCHMOD: unix.SYS_FCHMODAT, unix.SYS_FCHOWN: unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT: unix.SYS_UTIMENSAT,
	unix.SYS_FSETXATTR: unix.SYS_SETXATTR, unix.SYS_FREMOVEXATTR: unix.SYS_REMOVEXATTR,
}

// missingCalls fail as on a kernel that lacks them. The first three take structures that hold further addresses; programs
// use older calls instead. A program's own Landlock domain would not confine the calls that the listener makes.
var missingCalls = []uint32{unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR, unix.SYS_LANDLOCK_CREATE_RULESET}

// mutationFilter returns a filter for calls that change files: each call waits until a listener answers. It returns nil
// on unsupported architectures.
func mutationFilter() syscallFilter {
	calls := syscallRules{}
	for _, c := range mutationCalls {
		calls.setRules(c.number, c.seccompRules()...)
	}
	for _, number := range missingCalls {
		calls.setRules(number, returnAction(actionNoSyscall))
	}
	calls.setRules(unix.SYS_PRCTL, dumpableRules()...)
	calls.setRules(unix.SYS_FCNTL, leaseRules()...)
	calls.setRules(unix.SYS_IOCTL, fileIoctlRules()...)
	return newRuleFilter(calls, actionKill)
}

// dumpableRules returns rules that ignore requests to hide memory, with success. Key agents make such requests, but the
// listener reads the paths of changed files from that memory.
func dumpableRules() []unix.SockFilter {
	return []unix.SockFilter{
		loadWord(argumentOffset(0)), jumpIf(unix.BPF_JEQ, unix.PR_SET_DUMPABLE, 0, 3),
		loadWord(argumentOffset(1)), jumpIf(unix.BPF_JEQ, 0, 0, 1), returnAction(actionIgnore),
		returnAction(actionAllow),
	}
}

// leaseRules returns rules against write leases and delegations: nobody else can open such a file, so the listener could
// not read its contents for undo.
func leaseRules() []unix.SockFilter {
	const setDelegation = unix.F_SETLEASE + 16 // F_SETDELEG
	return []unix.SockFilter{
		loadWord(argumentOffset(1)), jumpIf(unix.BPF_JEQ, setDelegation, 3, 0), jumpIf(unix.BPF_JEQ, unix.F_SETLEASE, 0, 3),
		loadWord(argumentOffset(2)), jumpIf(unix.BPF_JEQ, unix.F_WRLCK, 0, 1), returnAction(actionDeny), returnAction(actionAllow),
	}
}

// fileIoctls are the requests of ioctl, without size and direction, that change files which are not open for writing:
// flags, generations, subvolumes.
var fileIoctls = []uint32{
	'f'<<8 | 2, 'f'<<8 | 19, 'f'<<8 | 133, 'X'<<8 | 32, 'v'<<8 | 2, 'r'<<8 | 17, // flags of ext4, all, XFS, and FAT
	0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x941a, 0x9425, 0x943f, // btrfs: make, delete and change subvolumes
}

// fileIoctlRules returns rules that refuse fileIoctls, as file systems do that lack them.
func fileIoctlRules() []unix.SockFilter {
	rules := []unix.SockFilter{loadWord(argumentOffset(1)), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xffff}}
	for _, request := range fileIoctls {
		rules = append(rules, jumpIf(unix.BPF_JEQ, request, 0, 1), returnAction(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOTTY)))
	}
	return append(rules, returnAction(actionAllow))
}

func (c mutationSyscall) seccompRules() []unix.SockFilter {
	if c.follow != followAsOpened || c.flags == noArgument {
		return []unix.SockFilter{returnAction(actionNotify)}
	}
	return []unix.SockFilter{loadWord(argumentOffset(uint32(c.flags))), jumpIf(unix.BPF_JSET, writeFlags, 0, 1), returnAction(actionNotify),
		returnAction(actionAllow)}
}

// makesDir reports whether a call creates a directory.
func (c mutationSyscall) makesDir() bool {
	return c.number == unix.SYS_MKDIRAT || c.number == archMkdir
}

// setsMode reports whether a call sets the mode of an existing file.
func (c *mutationSyscall) setsMode() bool {
	return slices.Contains([]uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, archChmod}, c.number)
}

// actionNotify makes a call wait for the listener's answer.
const actionNotify = uint32(unix.SECCOMP_RET_USER_NOTIF)

// actionIgnore lets a call succeed without effect.
const actionIgnore = uint32(unix.SECCOMP_RET_ERRNO)

// findMutationCall returns the description of a system call; nil if it changes no files.
func findMutationCall(number uint32) *mutationSyscall {
	i := slices.IndexFunc(mutationCalls, func(c mutationSyscall) bool { return c.number == number })
	if i < 0 {
		return nil
	}
	return &mutationCalls[i]
}
