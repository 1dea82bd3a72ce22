package isolation

import (
	"debug/elf"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0 // 32-bit programs have an architecture of their own
)

var archRefusedCalls []uint32

// forkCalls is empty: only clone starts processes on this architecture.
var forkCalls []uint32

// archChmodCalls is empty: chmodCalls has all calls of this architecture.
var archChmodCalls []fileModeSyscall

// archChownCalls is empty: chownCalls has all calls of this architecture.
var archChownCalls []chownCall

// archMutationCalls is the system call of this architecture that changes files.
var archMutationCalls = []mutationSyscall{{unix.SYS_RENAMEAT, mutation.Rename, 0, 1, 2, 3, noArgument, neverFollow}}

// archMemoryArguments is empty: memoryArguments has all arguments of this architecture.
var archMemoryArguments []memoryArgument

// archMkdir, archMknod and archChmod are mkdirat, mknodat and fchmodat, since this architecture has no others.
const archMkdir, archMknod, archChmod = unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_FCHMODAT

// elfMachine is this architecture's number in an ELF header.
const elfMachine = elf.EM_AARCH64
