//go:build linux && (amd64 || arm64)

package isolation

import (
	"bytes"
	"slices"
	"unsafe"
)

// launcherCodeEnd marks the end of the code in the .s files. The bytes are no instruction.
var launcherCodeEnd = []byte("end of stage    ")

// landlockLauncherAsm is never called. landlockLauncherCode copies its instructions.
func landlockLauncherAsm()

var _ = landlockLauncherAsm

// landlockLauncherCodeAddress returns the address of landlockLauncherAsm. Go's function value would be a wrapper's
// address.
func landlockLauncherCodeAddress() uintptr

// maxLauncherCode is more than the code of a launcher needs on any architecture.
const maxLauncherCode = 1024

// landlockLauncherCode returns the machine code of the Landlock launcher.
func landlockLauncherCode() []byte { return copyLauncherCode(landlockLauncherCodeAddress()) }

// copyLauncherCode copies the code at an address up to its end mark; nil without a mark.
func copyLauncherCode(at uintptr) []byte {
	code := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), maxLauncherCode)
	if n := bytes.Index(code, launcherCodeEnd); n >= 0 {
		return slices.Clone(code[:n])
	}
	return nil
}

// syscallLauncherAsm is never called. syscallLauncherCode copies its instructions.
func syscallLauncherAsm()

var _ = syscallLauncherAsm

func syscallLauncherAddress() uintptr

// syscallLauncherCode returns the machine code of the syscall launcher.
func syscallLauncherCode() []byte { return copyLauncherCode(syscallLauncherAddress()) }
