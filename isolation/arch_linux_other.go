//go:build linux && !amd64 && !arm64

package isolation

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

// auditArch is 0: no system call filter supports this architecture; see newSyscallFilter.
const auditArch, foreignBit = 0, 0

var archRefusedCalls, forkCalls []uint32

// addArgumentRules does nothing on this architecture.
func (syscallRules) addArgumentRules(filterOptions) {}

var archMutationCalls []mutationSyscall

var archMemoryArguments []memoryArgument

const archMkdir, archMknod, archChmod = unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_FCHMODAT

// elfMachine is this architecture's number in an ELF header.
const elfMachine = elf.EM_NONE

// landlockLauncherCode returns nil: there is no launcher for this architecture.
func landlockLauncherCode() []byte { return nil }

// syscallLauncherCode returns nil: there is no launcher for this architecture.
func syscallLauncherCode() []byte { return nil }
