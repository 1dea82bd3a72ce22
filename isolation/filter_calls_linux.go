package isolation

import (
	"slices"

	"golang.org/x/sys/unix"
)

// refusedCalls are system calls that always fail. Many need a capability that sandboxes lack anyway.
var refusedCalls = slices.Concat([]uint32{
	// Keys of the kernel's: they are kept for users and sessions, not for namespaces.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,

	// Large parts of the kernel that have been ways into it, time and again.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,

	// The mount view is made and stays as it is.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,

	// Another namespace, or a file by its number in whatever file system.
	unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,

	// Other processes' memory and descriptors.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,

	// The machine itself.
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_KEXEC_FILE_LOAD,
}, archRefusedCalls)

// newSyscallRules returns the rules for all system calls that are not always allowed.
func newSyscallRules(needs filterOptions) syscallRules {
	calls := syscallRules{}
	calls.addArgumentRules(needs)
	for _, number := range refusedCalls {
		calls.setRules(number, returnAction(actionDeny))
	}
	if !needs.programs {
		calls.setRules(unix.SYS_MEMFD_CREATE, returnAction(actionDeny)) // memory that could be run as a program
		calls.setRules(unix.SYS_EXECVEAT, returnAction(actionDeny))
	}
	if !needs.processes {
		for _, number := range forkCalls {
			calls.setRules(number, returnAction(actionDeny))
		}
	}
	// What clone3 is asked for lies in memory, where no filter can look. Who is told that there is none uses clone.
	calls.setRules(unix.SYS_CLONE3, returnAction(actionNoSyscall))
	calls.setRules(unix.SYS_CLONE, cloneRules(needs.processes)...)
	calls.setRules(unix.SYS_UNSHARE, loadWord(argumentOffset(0)), jumpIf(unix.BPF_JSET, namespaceFlags|unix.CLONE_NEWTIME, 0, 1), returnAction(actionDeny),
		returnAction(actionAllow))
	calls.setRules(unix.SYS_IOCTL, ioctlRules()...)
	calls.setRules(unix.SYS_SOCKET, socketRules(needs.internet)...)
	calls.setRules(unix.SYS_SOCKETPAIR, append(append([]unix.SockFilter{loadWord(argumentOffset(0))}, returnUnlessEqual(unix.AF_UNIX, actionNoFamily)...),
		returnAction(actionAllow))...)
	return calls
}

// namespaceFlags are the clone flags for new namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// cloneRules returns rules against new namespaces, and new processes unless allowed.
func cloneRules(processes bool) []unix.SockFilter {
	rules := []unix.SockFilter{loadWord(argumentOffset(0)), jumpIf(unix.BPF_JSET, namespaceFlags, 0, 1), returnAction(actionDeny)}
	if !processes {
		rules = append(rules, jumpIf(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0), returnAction(actionDeny))
	}
	return append(rules, returnAction(actionAllow))
}

// ioctlRules returns rules against injecting terminal input.
func ioctlRules() []unix.SockFilter {
	rules := []unix.SockFilter{loadWord(argumentOffset(1))}
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD} {
		rules = append(rules, jumpIf(unix.BPF_JEQ, request, 0, 1), returnAction(actionDeny))
	}
	return append(rules, returnAction(actionAllow))
}

// socketRules returns rules for usual families. Others bypass network namespaces (AF_VSOCK) or add attack surface.
func socketRules(internet bool) []unix.SockFilter {
	families := []uint32{unix.AF_UNIX}
	if internet {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	rules := []unix.SockFilter{loadWord(argumentOffset(0))}
	for _, family := range families {
		rules = append(rules, jumpIf(unix.BPF_JEQ, family, 0, 1), returnAction(actionAllow))
	}
	rules = append(rules, returnUnlessEqual(unix.AF_NETLINK, actionNoFamily)...)
	rules = append(rules, loadWord(argumentOffset(2)))
	rules = append(rules, returnUnlessEqual(unix.NETLINK_ROUTE, actionNoFamily)...)
	return append(rules, returnAction(actionAllow))
}

// newSignalFilter returns a filter against signals to a thread. The thread of a landlockDomain is in the domain of the
// child, so Landlock lets the child send it signals, and these would reach the thread's process.
//
// It covers the ways of the kernel to name a receiver by its number: the calls for signals, pidfds, and signals about a
// file's state. These pass only if Go ignores them.
func newSignalFilter(thread int) syscallFilter {
	refuse := func(argument uint32) []unix.SockFilter {
		return []unix.SockFilter{loadWord(argumentOffset(argument)), jumpIf(unix.BPF_JEQ, uint32(thread), 0, 1), returnAction(actionDeny),
			returnAction(actionAllow)}
	}
	const process, threadOfProcess, command, value = 0, 1, 1, 2
	calls := syscallRules{}
	for _, number := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO} {
		calls.setRules(number, refuse(process)...)
	}
	for _, number := range []uint32{unix.SYS_TGKILL, unix.SYS_RT_TGSIGQUEUEINFO} {
		calls.setRules(number, refuse(threadOfProcess)...)
	}
	calls.setRules(unix.SYS_PIDFD_SEND_SIGNAL, returnAction(actionNoSyscall)) // programs use kill instead
	calls.setRules(unix.SYS_FCNTL, loadWord(argumentOffset(command)), jumpIf(unix.BPF_JEQ, unix.F_SETSIG, 1, 0), returnAction(actionAllow),
		loadWord(argumentOffset(value)), jumpIf(unix.BPF_JEQ, 0, 2, 0), jumpIf(unix.BPF_JEQ, uint32(unix.SIGIO), 1, 0),
		jumpIf(unix.BPF_JGE, firstIgnoredSignal, 0, 1), returnAction(actionAllow), returnAction(actionDeny))
	return newRuleFilter(calls, actionAllow) // newSyscallFilter refuses calls of other architectures
}

// firstIgnoredSignal is the first real-time signal that a Go program ignores. The C library and Go use those before it.
const firstIgnoredSignal = 35
