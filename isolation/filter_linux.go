package isolation

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filter is a program of the kernel's that decides on every system call of a process and of all its descendants. It is
// a list of what is refused, because ordinary programs need most of the rest. What it refuses are doors into the kernel
// that no ordinary program uses, and ways around the other walls.
type filter []unix.SockFilter

// filterNeeds says what a filter must leave open.
type filterNeeds struct {
	programs  bool // programs that are not files of the view
	processes bool // further processes, not only threads
	internet  bool // sockets of the internet's families
	apart     bool // its processes and what they share have namespaces of their own
}

// newFilter writes the filter for a process with these needs; nil on an architecture that has none.
func newFilter(needs filterNeeds) filter {
	if auditArch == 0 {
		return nil
	}
	// Each architecture has its own numbers. A call by another one's would be taken for a different call.
	// Each architecture has its own numbers. A call by another one's would be taken for a different call.
	f := filter{load(offsetArch)}
	f.add(unless(auditArch, kill)...)
	f.add(load(offsetNumber))
	if foreignBit != 0 {
		f.add(jump(unix.BPF_JSET, foreignBit, 0, 1), answer(absent))
	}
	return append(f, search(rulesFor(needs))...)
}

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

// What a filter answers: the call is made; the process is killed; or the call fails, with an error that programs know
// how to go on from.
const (
	allowed  = uint32(unix.SECCOMP_RET_ALLOW)
	kill     = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	refused  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	absent   = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
)

// The places in what the kernel shows a filter of a call: struct seccomp_data.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

// lowHalf is where the low half of an argument stands: both architectures that have a filter are little-endian. It is
// all that the kernel itself looks at of flags, requests and families. A filter that compared all of the argument could
// be passed by setting a high bit.
func lowHalf(argument uint32) uint32 { return offsetArgument + 8*argument }

func (f *filter) add(instructions ...unix.SockFilter) { *f = append(*f, instructions...) }

// unless answers if what was loaded is not the value.
func unless(value, otherwise uint32) []unix.SockFilter {
	return []unix.SockFilter{jump(unix.BPF_JEQ, value, 1, 0), answer(otherwise)}
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jump compares what was loaded, and leaves out as many instructions as are named for each outcome.
func jump(comparison uint16, value uint32, ifTrue, ifFalse uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: value, Jt: ifTrue, Jf: ifFalse}
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// bytes is the filter as bubblewrap reads it.
func (f filter) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), len(f)*int(unsafe.Sizeof(f[0])))
}

// restrictThread puts the calling thread, and what it starts from now on, behind the filter for good. The thread must
// have given up gaining privileges, or be privileged.
func (f filter) restrictThread() error { return f.set(0) }

// restrictProcess does the same to all threads of this process. They then can't gain privileges, either.
func (f filter) restrictProcess() error { return f.set(unix.SECCOMP_FILTER_FLAG_TSYNC) }

func (f filter) set(flags uintptr) error {
	if len(f) == 0 {
		return nil
	}
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	apart, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("set the filter of system calls: %w", errno)
	}
	if apart != 0 {
		return fmt.Errorf("set the filter of system calls: thread %d has one of its own", apart)
	}
	return nil
}
