package isolation

import (
	"slices"

	"golang.org/x/sys/unix"
)

// refusedCalls are the system calls that fail whatever their arguments are. Many need a capability besides, which
// nobody inside has; this is the second lock on the door.
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

// rulesFor are the rules for all calls that are not always allowed.
func rulesFor(needs filterNeeds) callRules {
	calls := callRules{}
	calls.guard(needs)
	for _, number := range refusedCalls {
		calls.on(number, answer(refused))
	}
	if !needs.programs {
		calls.on(unix.SYS_MEMFD_CREATE, answer(refused)) // memory that could be run as a program
		calls.on(unix.SYS_EXECVEAT, answer(refused))
	}
	if !needs.processes {
		for _, number := range forkCalls {
			calls.on(number, answer(refused))
		}
	}
	// What clone3 is asked for lies in memory, where no filter can look. Who is told that there is none uses clone.
	calls.on(unix.SYS_CLONE3, answer(absent))
	calls.on(unix.SYS_CLONE, cloneRules(needs.processes)...)
	calls.on(unix.SYS_UNSHARE, load(lowHalf(0)), jump(unix.BPF_JSET, namespaces|unix.CLONE_NEWTIME, 0, 1), answer(refused),
		answer(allowed))
	calls.on(unix.SYS_IOCTL, ioctlRules()...)
	calls.on(unix.SYS_SOCKET, socketRules(needs.internet)...)
	calls.on(unix.SYS_SOCKETPAIR, append(append([]unix.SockFilter{load(lowHalf(0))}, unless(unix.AF_UNIX, noFamily)...),
		answer(allowed))...)
	return calls
}

// namespaces are the flags of clone that make new ones.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// cloneRules refuse new namespaces, and new processes where there may be none.
func cloneRules(processes bool) []unix.SockFilter {
	rules := []unix.SockFilter{load(lowHalf(0)), jump(unix.BPF_JSET, namespaces, 0, 1), answer(refused)}
	if !processes {
		rules = append(rules, jump(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0), answer(refused))
	}
	return append(rules, answer(allowed))
}

// ioctlRules refuse to type into a terminal in somebody else's place.
func ioctlRules() []unix.SockFilter {
	rules := []unix.SockFilter{load(lowHalf(1))}
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD} {
		rules = append(rules, jump(unix.BPF_JEQ, request, 0, 1), answer(refused))
	}
	return append(rules, answer(allowed))
}

// socketRules allow the families that programs talk through, and of the kernel's own the one that lists addresses and
// routes. The others reach other machines around the network's namespace (AF_VSOCK), or are ways to attack the kernel.
func socketRules(internet bool) []unix.SockFilter {
	families := []uint32{unix.AF_UNIX}
	if internet {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	rules := []unix.SockFilter{load(lowHalf(0))}
	for _, family := range families {
		rules = append(rules, jump(unix.BPF_JEQ, family, 0, 1), answer(allowed))
	}
	rules = append(rules, unless(unix.AF_NETLINK, noFamily)...)
	rules = append(rules, load(lowHalf(2)))
	rules = append(rules, unless(unix.NETLINK_ROUTE, noFamily)...)
	return append(rules, answer(allowed))
}
