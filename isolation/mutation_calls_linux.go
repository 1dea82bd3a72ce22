package isolation

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// mutationCall is a system call that changes a name or a file. Its fields are argument indexes; none is -1.
type mutationCall struct {
	number uint32
	kind   mutation.Kind
	at     int // directory of path, or the file itself
	path   int
	toAt   int // the same for the second name
	to     int
	flags  int
	follow linkMode
}

// noArgument stands for a missing argument.
const noArgument = -1

// linkMode says whether a call follows a symlink at the end of its path.
type linkMode int

const (
	neverFollow linkMode = iota
	alwaysFollow
	followUnlessFlag // AT_SYMLINK_NOFOLLOW
	followIfFlag     // AT_SYMLINK_FOLLOW
	followAsOpened   // by the open flags
)

// writeFlags are open flags that may change something.
const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// mutationCalls are those of all architectures. Calls on descriptors opened for writing are omitted, since the open was
// noticed.
var mutationCalls = slices.Concat([]mutationCall{
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
	{unix.SYS_SETXATTRAT, mutation.Attribute, 0, 1, noArgument, noArgument, 2, followUnlessFlag},
	{unix.SYS_REMOVEXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_LREMOVEXATTR, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_FREMOVEXATTR, mutation.Attribute, 0, noArgument, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_FILE_SETATTR, mutation.Attribute, 0, 1, noArgument, noArgument, 4, followUnlessFlag},
	{unix.SYS_REMOVEXATTRAT, mutation.Attribute, 0, 1, noArgument, noArgument, 2, followUnlessFlag},
}, archMutationCalls)

// mutationFilter stops calls that change files until a listener answers; nil on unsupported architectures. Reads are
// never stopped.
func mutationFilter() syscallFilter {
	if auditArch == 0 {
		return nil
	}
	calls := callRules{}
	for _, c := range mutationCalls {
		calls.setRules(c.number, c.filterRules()...)
	}
	calls.setRules(unix.SYS_PRCTL, dumpableRules()...)
	f := syscallFilter{loadWord(offsetArch)}
	f.addInstructions(denyUnless(auditArch, actionKill)...)
	f.addInstructions(loadWord(offsetNumber))
	return append(f, searchCode(calls)...)
}

// dumpableRules ignores a process's wish to hide its memory, where the paths of its calls are: its changes could not be
// looked at. Agents for keys wish so.
func dumpableRules() []unix.SockFilter {
	return []unix.SockFilter{
		loadWord(argumentOffset(0)), jumpIf(unix.BPF_JEQ, unix.PR_SET_DUMPABLE, 0, 3),
		loadWord(argumentOffset(1)), jumpIf(unix.BPF_JEQ, 0, 0, 1), returnAction(actionIgnore),
		returnAction(actionAllow),
	}
}

func (c mutationCall) filterRules() []unix.SockFilter {
	if c.follow != followAsOpened || c.flags == noArgument {
		return []unix.SockFilter{returnAction(actionNotify)}
	}
	return []unix.SockFilter{loadWord(argumentOffset(uint32(c.flags))), jumpIf(unix.BPF_JSET, writeFlags, 0, 1), returnAction(actionNotify),
		returnAction(actionAllow)}
}

// makesDir reports whether a call creates a directory.
func (c mutationCall) makesDir() bool {
	return c.number == unix.SYS_MKDIRAT || c.number == archMkdir
}

// actionNotify stops a call until the listener answers.
const actionNotify = uint32(unix.SECCOMP_RET_USER_NOTIF)

// actionIgnore has a call succeed without effect.
const actionIgnore = uint32(unix.SECCOMP_RET_ERRNO)

// findMutationCall returns a call by number; nil if it changes nothing.
func findMutationCall(number uint32) *mutationCall {
	i := slices.IndexFunc(mutationCalls, func(c mutationCall) bool { return c.number == number })
	if i < 0 {
		return nil
	}
	return &mutationCalls[i]
}
