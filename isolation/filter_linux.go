package isolation

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscallFilter is a seccomp program that decides on every system call of a process and its descendants. It is a
// deny-list, since programs need most calls. It denies calls that attack the kernel or bypass the other layers.
type syscallFilter []unix.SockFilter

// filterOptions tells which groups of system calls a filter must allow.
type filterOptions struct {
	programs      bool // programs that are no files in the view
	processes     bool // new processes, not only threads
	internet      bool // internet sockets
	ownNamespaces bool // processes and shared memory have their own namespaces
}

// newSyscallFilter returns the filter for needs; nil on unsupported architectures.
func newSyscallFilter(needs filterOptions) syscallFilter {
	if auditArch == 0 {
		return nil
	}
	// Each architecture has its own numbers. A call by another one's would be taken for a different call.
	f := syscallFilter{loadWord(offsetArch)}
	f.addInstructions(returnUnlessEqual(auditArch, actionKill)...)
	f.addInstructions(loadWord(offsetNumber))
	if foreignBit != 0 {
		f.addInstructions(jumpIf(unix.BPF_JSET, foreignBit, 0, 1), returnAction(actionNoSyscall))
	}
	return append(f, buildRuleLookup(newSyscallRules(needs))...)
}

// newRuleFilter returns a filter with rules for this architecture, and an action for calls of others. It returns nil on
// unsupported architectures.
func newRuleFilter(calls syscallRules, foreign uint32) syscallFilter {
	if auditArch == 0 {
		return nil
	}
	f := syscallFilter{loadWord(offsetArch)}
	f.addInstructions(returnUnlessEqual(auditArch, foreign)...)
	f.addInstructions(loadWord(offsetNumber))
	return append(f, buildRuleLookup(calls)...)
}

// Actions of a filter: allow the call, kill the process, or return an error that programs handle.
const (
	actionAllow     = uint32(unix.SECCOMP_RET_ALLOW)
	actionKill      = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	actionDeny      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	actionNoSyscall = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	actionEmulate   = uint32(unix.SECCOMP_RET_TRACE) // actionNotify if there is a listener, else actionNoSyscall
	actionNoFamily  = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
)

// Offsets in the kernel's struct seccomp_data, which describes a system call to a filter.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

// argumentOffset returns the offset of the low half of an argument on little-endian architectures. The kernel uses
// only that half of flags, requests and families, so a comparison of all bits could be bypassed.
func argumentOffset(argument uint32) uint32 { return offsetArgument + 8*argument }

func (f *syscallFilter) addInstructions(instructions ...unix.SockFilter) {
	*f = append(*f, instructions...)
}

// returnUnlessEqual ends the filter with action otherwise unless the loaded value is value.
func returnUnlessEqual(value, otherwise uint32) []unix.SockFilter {
	return []unix.SockFilter{jumpIf(unix.BPF_JEQ, value, 1, 0), returnAction(otherwise)}
}

func loadWord(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jumpIf compares the loaded value, and skips ifTrue or ifFalse instructions.
func jumpIf(comparison uint16, value uint32, ifTrue, ifFalse uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: value, Jt: ifTrue, Jf: ifFalse}
}

func returnAction(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// encodeForBwrap returns the filter in the format that bubblewrap reads.
func (f syscallFilter) encodeForBwrap() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), len(f)*int(unsafe.Sizeof(f[0])))
}

// applyToThread applies the filter permanently to the calling thread and its children. The thread must have set
// no_new_privs, or be privileged.
func (f syscallFilter) applyToThread() error { return f.applyFilter(0) }

func (f syscallFilter) applyFilter(flags uintptr) error {
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
		return fmt.Errorf("set the seccomp filter: thread %d has another filter", apart)
	}
	return nil
}

// syscallRules maps a system call number to its rules.
type syscallRules map[uint32][]unix.SockFilter

// setRules sets the rules for a system call.
func (calls syscallRules) setRules(number uint32, rules ...unix.SockFilter) { calls[number] = rules }

// buildRuleLookup returns instructions that find the rules of the loaded call number, and allow calls without rules. A
// binary search keeps starts fast, since the kernel evaluates a new filter for every call number.
func buildRuleLookup(calls syscallRules) []unix.SockFilter {
	return buildRangeLookup(slices.Sorted(maps.Keys(calls)), calls)
}

// linearSearchLimit is the maximum number of calls for which a linear search is shorter.
const linearSearchLimit = 4

func buildRangeLookup(numbers []uint32, calls syscallRules) []unix.SockFilter {
	if len(numbers) > linearSearchLimit {
		half := len(numbers) / 2
		below, from := buildRangeLookup(numbers[:half], calls), buildRangeLookup(numbers[half:], calls)
		return slices.Concat([]unix.SockFilter{jumpIf(unix.BPF_JGE, numbers[half], 0, 1), skipInstructions(len(below))}, below, from)
	}
	var f []unix.SockFilter
	for _, number := range numbers {
		rules := calls[number]
		f = append(f, jumpIf(unix.BPF_JEQ, number, 0, uint8(len(rules))))
		f = append(f, rules...)
	}
	return append(f, returnAction(actionAllow))
}

// skipInstructions returns an unconditional jump. Conditional jumps skip at most 255 of them.
func skipInstructions(instructions int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(instructions)}
}

// applyFilterToSelf applies the system call filter of p's children to this process.
func (pl *processStarter) applyFilterToSelf(p Profile) error {
	if !p.Confine || pl.cfg.Enabled {
		return nil // children get none from the thread that starts them
	}
	needs := confinedFilterOptions(p)
	runtime.LockOSThread() // giving up privileges is the thread's; the filter takes the other threads along
	defer runtime.UnlockOSThread()
	if err := setNoNewPrivileges(); err != nil {
		return err
	}
	if err := pl.filter(needs).applyFilter(unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return err
	}
	pl.ownFilter.Store(&needs)
	return nil
}

// confinedFilterOptions returns the options of the filter of a child without a sandbox. They always allow processes,
// since the filtered thread itself starts the child.
func confinedFilterOptions(p Profile) filterOptions {
	return filterOptions{programs: p.allowsAnyProgram(), processes: true, internet: p.Network, ownNamespaces: p.Nested}
}
