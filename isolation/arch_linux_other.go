//go:build linux && !amd64 && !arm64

package isolation

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

// There is no filter of system calls for this architecture yet; see newSyscallFilter.
const auditArch, foreignBit = 0, 0

var archRefusedCalls, forkCalls []uint32

func (callRules) addArgumentRules(filterNeeds) {}

var archMutationCalls []mutationCall

const archMkdir = unix.SYS_MKDIRAT

const stageMachine = elf.EM_NONE

// stageCode returns nothing: there is no stage for this architecture yet.
func stageCode() []byte { return nil }

// scriptCode returns nothing either.
func scriptCode() []byte { return nil }
