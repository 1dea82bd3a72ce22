package isolation

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignBit marks the calls of a third architecture, x32, which shares this one's name but not its numbers.
	foreignBit = 0x40000000
)

var archRefusedCalls = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}

// forkCalls are the ways besides clone to start a process.
var forkCalls = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

// archModeCalls are the older ways to give a file a mode.
var archModeCalls = []modeCall{{unix.SYS_CHMOD, 1, -1}, {unix.SYS_CREAT, 1, -1}, {unix.SYS_MKNOD, 1, -1},
	{unix.SYS_OPEN, 2, 1}}

// stageMachine is this architecture in a program's header.
const stageMachine = elf.EM_X86_64
