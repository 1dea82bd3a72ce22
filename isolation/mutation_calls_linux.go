package isolation

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// mutationCall is a system call that changes what a name stands for, or what is behind it. The numbers say which
// argument is what; none says that the call has no such argument.
type mutationCall struct {
	number uint32
	kind   mutation.Kind
	at     int // the directory that path is relative to, or, without a path, the file itself
	path   int
	toAt   int // the same for the second name
	to     int
	flags  int
	follow follow
}

// none stands for an argument that a call does not have.
const none = -1

// follow says whether a call follows a symbolic link at the end of its path.
type follow int

const (
	never follow = iota
	always
	unlessFlag // AT_SYMLINK_NOFOLLOW
	ifFlag     // AT_SYMLINK_FOLLOW
	asOpened   // as the flags of an open say
)

// writing are the flags of an open that may change something.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// mutationCalls are those of every architecture. A call that works on a descriptor which had to be opened for writing
// is not among them: that was noticed when it was opened.
var mutationCalls = slices.Concat([]mutationCall{
	{unix.SYS_OPENAT, mutation.Write, 0, 1, none, none, 2, asOpened},
	{unix.SYS_TRUNCATE, mutation.Write, none, 0, none, none, none, always},
	{unix.SYS_UNLINKAT, mutation.Remove, 0, 1, none, none, none, never},
	{unix.SYS_RENAMEAT2, mutation.Rename, 0, 1, 2, 3, 4, never},
	{unix.SYS_LINKAT, mutation.Link, 0, 1, 2, 3, 4, ifFlag},
	{unix.SYS_SYMLINKAT, mutation.Make, 1, 2, none, none, none, never},
	{unix.SYS_MKDIRAT, mutation.Make, 0, 1, none, none, none, never},
	{unix.SYS_MKNODAT, mutation.Make, 0, 1, none, none, none, never},
	{unix.SYS_BIND, mutation.Make, none, 1, none, none, none, never},
	{unix.SYS_FCHMOD, mutation.Attribute, 0, none, none, none, none, always},
	{unix.SYS_FCHMODAT, mutation.Attribute, 0, 1, none, none, none, always},
	{unix.SYS_FCHMODAT2, mutation.Attribute, 0, 1, none, none, 3, unlessFlag},
	{unix.SYS_FCHOWN, mutation.Attribute, 0, none, none, none, none, always},
	{unix.SYS_FCHOWNAT, mutation.Attribute, 0, 1, none, none, 4, unlessFlag},
	{unix.SYS_UTIMENSAT, mutation.Attribute, 0, 1, none, none, 3, unlessFlag},
	{unix.SYS_SETXATTR, mutation.Attribute, none, 0, none, none, none, always},
	{unix.SYS_LSETXATTR, mutation.Attribute, none, 0, none, none, none, never},
	{unix.SYS_FSETXATTR, mutation.Attribute, 0, none, none, none, none, always},
	{unix.SYS_SETXATTRAT, mutation.Attribute, 0, 1, none, none, 2, unlessFlag},
	{unix.SYS_REMOVEXATTR, mutation.Attribute, none, 0, none, none, none, always},
	{unix.SYS_LREMOVEXATTR, mutation.Attribute, none, 0, none, none, none, never},
	{unix.SYS_FREMOVEXATTR, mutation.Attribute, 0, none, none, none, none, always},
	{unix.SYS_FILE_SETATTR, mutation.Attribute, 0, 1, none, none, 4, unlessFlag},
	{unix.SYS_REMOVEXATTRAT, mutation.Attribute, 0, 1, none, none, 2, unlessFlag},
}, archMutationCalls)

// mutationFilter stops the calls that change files until somebody who listens lets them go on; nil on an architecture
// that has none. Reading is never stopped.
func mutationFilter() filter {
	if auditArch == 0 {
		return nil
	}
	calls := callRules{}
	for _, c := range mutationCalls {
		calls.on(c.number, c.rules()...)
	}
	f := filter{load(offsetArch)}
	f.add(unless(auditArch, kill)...)
	f.add(load(offsetNumber))
	return append(f, search(calls)...)
}

func (c mutationCall) rules() []unix.SockFilter {
	if c.follow != asOpened || c.flags == none {
		return []unix.SockFilter{answer(noticed)}
	}
	return []unix.SockFilter{load(lowHalf(uint32(c.flags))), jump(unix.BPF_JSET, writing, 0, 1), answer(noticed),
		answer(allowed)}
}

// makesDir reports whether a call makes a directory.
func (c mutationCall) makesDir() bool {
	return c.number == unix.SYS_MKDIRAT || c.number == archMkdir
}

// noticed stops a call until the listener has answered.
const noticed = uint32(unix.SECCOMP_RET_USER_NOTIF)

// mutationCallOf finds a call by its number; nil for one that changes nothing.
func mutationCallOf(number uint32) *mutationCall {
	i := slices.IndexFunc(mutationCalls, func(c mutationCall) bool { return c.number == number })
	if i < 0 {
		return nil
	}
	return &mutationCalls[i]
}
