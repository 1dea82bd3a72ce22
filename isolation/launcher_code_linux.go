//go:build linux && (amd64 || arm64)

package isolation

import "unsafe"

// landlockLauncherAsm is never called. landlockLauncherCode copies its instructions.
func landlockLauncherAsm()

var _ = landlockLauncherAsm

// landlockLauncherCodeAddress returns the address of landlockLauncherAsm. Go's function value would be a wrapper's
// address.
func landlockLauncherCodeAddress() uintptr

// maxLauncherCode is more than the code of a launcher needs on any architecture.
const maxLauncherCode = 1024

// landlockLauncherCode returns the machine code of the Landlock launcher.
func landlockLauncherCode() []byte {
	at := landlockLauncherCodeAddress()
	return trimLauncherCode(unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), maxLauncherCode))
}

// syscallLauncherAsm is never called. syscallLauncherCode copies its instructions.
func syscallLauncherAsm()

var _ = syscallLauncherAsm

func syscallLauncherAddress() uintptr

// syscallLauncherCode returns the machine code of the syscall launcher.
func syscallLauncherCode() []byte {
	at := syscallLauncherAddress()
	return trimLauncherCode(unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), maxLauncherCode))
}
