//go:build linux && (amd64 || arm64)

package isolation

import "golang.org/x/sys/unix"

// setID are the bits of a mode that have a program run with the rights of the file's owner or group. Nobody confined
// may set them: what root makes such a file of, in a workspace or anywhere else, anybody on the machine can run as
// root. Directories have the second bit too, for another purpose, and no filter can tell.
const setID = unix.S_ISUID | unix.S_ISGID

// modeCall is a call that gives a file a mode.
type modeCall struct {
	number uint32
	mode   uint32 // which argument it is
	flags  int    // which one reports whether a file is made at all; -1 for none: one is, or there is one
}

// modeCalls are those of every architecture.
var modeCalls = []modeCall{
	{unix.SYS_OPENAT, 3, 2}, {unix.SYS_MKNODAT, 2, -1},
	{unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1},
}

// makesFile are the flags of an open that gives a mode; without them there is anything in that argument.
const makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// rules refuse a mode that has one of the bits.
func (c modeCall) rules() []unix.SockFilter {
	var rules []unix.SockFilter
	if c.flags >= 0 {
		rules = append(rules, load(lowHalf(uint32(c.flags))), jump(unix.BPF_JSET, makesFile, 1, 0), answer(allowed))
	}
	return append(rules, load(lowHalf(c.mode)), jump(unix.BPF_JSET, setID, 0, 1), answer(refused), answer(allowed))
}

// limitRules refuse to set another process's limits: with the one on processor time a process of the same user's is as
// good as killed. Reading them is free.
func limitRules() []unix.SockFilter {
	const process, value = 0, 2
	return []unix.SockFilter{
		load(lowHalf(process)), jump(unix.BPF_JEQ, 0, 0, 1), answer(allowed),
		load(lowHalf(value)), jump(unix.BPF_JEQ, 0, 0, 2),
		load(lowHalf(value) + 4), jump(unix.BPF_JEQ, 0, 1, 0),
		answer(refused), answer(allowed),
	}
}

// schedulingCall sets how processes share the processors and disks.
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

// rules refuse groups and users everywhere, and another process unless namespaces hide those of others.
func (c schedulingCall) rules(apart bool) []unix.SockFilter {
	var rules []unix.SockFilter
	if c.kind >= 0 {
		rules = append(append(rules, load(lowHalf(0))), unless(uint32(c.kind), refused)...)
	}
	if !apart {
		rules = append(append(rules, load(lowHalf(c.process))), unless(0, refused)...)
	}
	return append(rules, answer(allowed))
}

// sharedMemory are the calls for memory, queues and semaphores that are found by a number or a name, and that know
// users but neither paths nor domains: without a namespace of one's own they are those of all the user's programs.
var sharedMemory = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
	unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// guard adds what looks at arguments, for calls that ordinary programs make all the time.
func (calls callRules) guard(needs filterNeeds) {
	for _, call := range append(modeCalls, archModeCalls...) {
		calls.on(call.number, call.rules()...)
	}
	// What it is asked for lies in memory, where no filter can look. Who is told that there is none uses openat.
	calls.on(unix.SYS_OPENAT2, answer(absent))
	calls.on(unix.SYS_PRLIMIT64, limitRules()...)
	for _, call := range schedulingCalls {
		calls.on(call.number, call.rules(needs.apart)...)
	}
	if needs.apart {
		return
	}
	for _, number := range sharedMemory {
		calls.on(number, answer(absent))
	}
}
