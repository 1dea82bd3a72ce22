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

// SandboxIdentity returns text that identifies kernel, bubblewrap and layers of this process's sandboxes. Sandboxes
// with equal identities have equal protection.
func (i *Starter) SandboxIdentity() string {
	var kernel unix.Utsname
	_ = unix.Uname(&kernel) // it can't fail
	text := fmt.Sprintf("%s %s %s uid=%d landlock=%d", unix.ByteSliceToString(kernel.Release[:]),
		unix.ByteSliceToString(kernel.Version[:]), unix.ByteSliceToString(kernel.Machine[:]), os.Getuid(),
		i.starter.landlock)
	if i.starter.bwrap == "" {
		return text
	}
	return text + " " + FileIdentity(i.starter.bwrap)
}

// FileIdentity returns text that changes whenever the file changes.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d %d %d", path, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
}

// SupportsConfine reports whether Profile.Confine works on this machine, by Landlock.
func SupportsConfine() bool { return landlockABI() > 0 }
