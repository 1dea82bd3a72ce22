package isolation

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// DetectFeatures returns the isolation features of this machine.
func DetectFeatures() KernelFeatures {
	return KernelFeatures{Landlock: landlockABI(), Filter: auditArch != 0}
}

// SandboxIdentity identifies kernel, bubblewrap and layers of this process's sandboxes. Equal identities have equal
// protection.
func (i *Isolation) SandboxIdentity() string {
	var kernel unix.Utsname
	_ = unix.Uname(&kernel) // it can't fail
	text := fmt.Sprintf("%s %s %s uid=%d landlock=%d", unix.ByteSliceToString(kernel.Release[:]),
		unix.ByteSliceToString(kernel.Version[:]), unix.ByteSliceToString(kernel.Machine[:]), os.Getuid(),
		i.platform.landlock)
	if i.platform.bwrap == "" {
		return text
	}
	return text + " " + FileIdentity(i.platform.bwrap)
}

// FileIdentity identifies the current state of a file.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d %d %d", path, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
}

// KernelConfines reports whether the kernel can confine processes without installed programs.
func KernelConfines() bool { return landlockABI() > 0 }
