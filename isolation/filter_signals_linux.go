package isolation

import "golang.org/x/sys/unix"

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
