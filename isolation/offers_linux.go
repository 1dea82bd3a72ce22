package isolation

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// MachineOffers says what this machine has to build walls of.
func MachineOffers() Offers { return Offers{Landlock: landlockABI(), Filter: auditArch != 0} }

// Identity names what the sandboxes of this process are made by: kernel, bubblewrap, and the walls in use. Where it is
// the same, the same walls hold.
func (i *Isolation) Identity() string {
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

// FileIdentity names a file as it is now: once it is changed or another takes its place, the name is another.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d %d %d", path, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
}

// KernelConfines reports whether the kernel can hold a process to its profile with nothing installed.
func KernelConfines() bool { return landlockABI() > 0 }
