//go:build linux && (amd64 || arm64)

package isolation

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// fileModeSyscall is a system call with a file mode as an argument.
type fileModeSyscall struct {
	number uint32
	mode   uint32 // index of the argument
	flags  int    // index of the open flags; -1 if the call always sets a mode
}

// chmodCalls are the system calls of all architectures that set a file mode.
var chmodCalls = []fileModeSyscall{
	{unix.SYS_OPENAT, 3, 2}, {unix.SYS_MKNODAT, 2, -1},
	{unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1},
}

// chownCall is a system call that sets a file's owner and, in the argument after it, the group.
type chownCall struct{ number, owner uint32 }

// chownCalls are the system calls of all architectures that set a file's owner.
var chownCalls = []chownCall{{unix.SYS_FCHOWN, 1}, {unix.SYS_FCHOWNAT, 2}}

// seccompRules returns rules that refuse foreign owners with EPERM: programs do not expect the kernel's EINVAL.
func (c chownCall) seccompRules() []unix.SockFilter {
	var rules []unix.SockFilter
	for n, own := range []int{os.Getuid(), os.Getgid()} {
		rules = append(rules, loadWord(argumentOffset(c.owner+uint32(n))), jumpIf(unix.BPF_JEQ, math.MaxUint32, 2, 0),
			jumpIf(unix.BPF_JEQ, uint32(own), 1, 0), returnAction(actionDeny))
	}
	return append(rules, returnAction(actionAllow))
}

// createFlags are the open flags that make the kernel use the mode argument.
const createFlags = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// seccompRules refuses modes with the setuid or setgid bit: a setuid file of root lets every local user become root. It
// leaves chmod with the setgid bit to [madeCall.keepSetgid].
func (c fileModeSyscall) seccompRules() []unix.SockFilter {
	var rules []unix.SockFilter
	if c.flags >= 0 {
		rules = append(rules, loadWord(argumentOffset(uint32(c.flags))), jumpIf(unix.BPF_JSET, createFlags, 1, 0), returnAction(actionAllow))
	}
	setgid := actionDeny
	if findMutationCall(c.number).setsMode() {
		setgid = actionEmulate
	}
	return append(rules, loadWord(argumentOffset(c.mode)), jumpIf(unix.BPF_JSET, unix.S_ISUID, 0, 1), returnAction(actionDeny),
		jumpIf(unix.BPF_JSET, unix.S_ISGID, 0, 1), returnAction(setgid), returnAction(actionAllow))
}

// prlimitRules returns rules that allow reading all limits and changing own ones: a CPU limit could kill others.
func prlimitRules() []unix.SockFilter {
	const process, value = 0, 2
	return []unix.SockFilter{
		loadWord(argumentOffset(process)), jumpIf(unix.BPF_JEQ, 0, 0, 1), returnAction(actionAllow),
		loadWord(argumentOffset(value)), jumpIf(unix.BPF_JEQ, 0, 0, 2),
		loadWord(argumentOffset(value) + 4), jumpIf(unix.BPF_JEQ, 0, 1, 0),
		returnAction(actionDeny), returnAction(actionAllow),
	}
}

// schedulingCall is a system call that sets CPU or disk priorities.
type schedulingCall struct {
	number  uint32
	process uint32 // the argument that names the process; 0 there means the caller
	kind    int    // the value of the first argument for one process, not a group's or a user's; -1 if the call has none
}

var schedulingCalls = []schedulingCall{
	{unix.SYS_SETPRIORITY, 1, unix.PRIO_PROCESS}, {unix.SYS_IOPRIO_SET, 1, 1},
	{unix.SYS_SCHED_SETAFFINITY, 0, -1}, {unix.SYS_SCHED_SETSCHEDULER, 0, -1}, {unix.SYS_SCHED_SETPARAM, 0, -1},
	{unix.SYS_SCHED_SETATTR, 0, -1},
}

// seccompRules returns rules against changing priorities of process groups and users. Without a pid namespace they also
// protect other processes.
func (c schedulingCall) seccompRules(ownNamespaces bool) []unix.SockFilter {
	var rules []unix.SockFilter
	if c.kind >= 0 {
		rules = append(append(rules, loadWord(argumentOffset(0))), returnUnlessEqual(uint32(c.kind), actionDeny)...)
	}
	if !ownNamespaces {
		rules = append(append(rules, loadWord(argumentOffset(c.process))), returnUnlessEqual(0, actionDeny)...)
	}
	return append(rules, returnAction(actionAllow))
}

// sysvCalls are the System V calls for shared memory, queues and semaphores. Without a namespace, all processes of a
// user share these objects.
var sysvCalls = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
	unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// addArgumentRules adds rules that check arguments of system calls.
func (calls syscallRules) addArgumentRules(needs filterOptions) {
	for _, call := range append(chmodCalls, archChmodCalls...) {
		calls.setRules(call.number, call.seccompRules()...)
	}
	// What it is asked for lies in memory, where no filter can look. Who is told that there is none uses openat.
	calls.setRules(unix.SYS_OPENAT2, returnAction(actionNoSyscall))
	calls.setRules(unix.SYS_PRLIMIT64, prlimitRules()...)
	for _, call := range schedulingCalls {
		calls.setRules(call.number, call.seccompRules(needs.ownNamespaces)...)
	}
	if needs.ownNamespaces {
		for _, call := range append(chownCalls, archChownCalls...) {
			calls.setRules(call.number, call.seccompRules()...)
		}
		return
	}
	for _, number := range sysvCalls {
		calls.setRules(number, returnAction(actionNoSyscall))
	}
}
