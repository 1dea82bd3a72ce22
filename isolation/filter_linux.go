package isolation

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
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
	f := filter{load(offsetArch)}
	f.add(unless(auditArch, kill)...)
	f.add(load(offsetNumber))
	if foreignBit != 0 {
		f.add(jump(unix.BPF_JSET, foreignBit, 0, 1), answer(absent))
	}
	return append(f, search(rulesFor(needs))...)
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

// callRules are the rules of a filter by the number of the call that they are about. Each call's end with an answer.
type callRules map[uint32][]unix.SockFilter

// on sets the rules for one call.
func (calls callRules) on(number uint32, rules ...unix.SockFilter) { calls[number] = rules }

// search finds the rules for the call whose number was loaded, and allows it if there are none. It halves the numbers
// at every step: when a filter is set the kernel runs it for each call that there is, to note those that are always
// allowed, and that is paid for with every command that is started.
func search(calls callRules) []unix.SockFilter {
	return searchAmong(slices.Sorted(maps.Keys(calls)), calls)
}

// searchedOneByOne is how many numbers are compared one after another, which is shorter than to halve them.
const searchedOneByOne = 4

func searchAmong(numbers []uint32, calls callRules) []unix.SockFilter {
	if len(numbers) > searchedOneByOne {
		half := len(numbers) / 2
		below, from := searchAmong(numbers[:half], calls), searchAmong(numbers[half:], calls)
		return slices.Concat([]unix.SockFilter{jump(unix.BPF_JGE, numbers[half], 0, 1), skip(len(below))}, below, from)
	}
	var f []unix.SockFilter
	for _, number := range numbers {
		rules := calls[number]
		f = append(f, jump(unix.BPF_JEQ, number, 0, uint8(len(rules))))
		f = append(f, rules...)
	}
	return append(f, answer(allowed))
}

// skip leaves out any number of instructions; a jump that compares can only leave out 255.
func skip(instructions int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(instructions)}
}

// filterSelf puts this process behind the filter that children with p's needs get, and notes which it is.
func (pl *platform) filterSelf(p Profile) error {
	if !p.Confine || pl.cfg.Enabled {
		return nil // children get none from the thread that starts them
	}
	needs := confinedNeeds(p)
	runtime.LockOSThread() // giving up privileges is the thread's; the filter takes the other threads along
	defer runtime.UnlockOSThread()
	if err := giveUpPrivileges(); err != nil {
		return err
	}
	if err := pl.filter(needs).restrictProcess(); err != nil {
		return err
	}
	pl.behind.Store(&needs)
	return nil
}

// confinedNeeds are those of a child that is confined without a sandbox. The thread itself has to start a process
// behind the filter, so processes can't be refused.
func confinedNeeds(p Profile) filterNeeds {
	return filterNeeds{programs: p.anyProgram(), processes: true, internet: p.Network, apart: p.apart()}
}
