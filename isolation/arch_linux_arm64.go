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

// forkCalls are the ways besides clone to start a process: there are none.
var forkCalls []uint32

// archModeCalls are the older ways to give a file a mode: there are none.
var archModeCalls []modeCall

// archOwnerCalls are the older ways to give a file an owner: there are none.
var archOwnerCalls []ownerCall

// archMutationCalls is the older way to change files.
var archMutationCalls = []mutationCall{{unix.SYS_RENAMEAT, mutation.Rename, 0, 1, 2, 3, noArgument, neverFollow}}

// archMkdir is the only call that makes a directory.
const archMkdir = unix.SYS_MKDIRAT

// stageMachine is this architecture in a program's header.
const stageMachine = elf.EM_AARCH64
