//go:build !linux

package isolation

import (
	"fmt"
	"os"
	"runtime"
)

// KernelConfines reports whether the kernel can confine processes without installed programs.
func KernelConfines() bool { return false }

// CanNoticeChanges reports whether [Profile.Notice] works on this machine. Older kernels lack support, and nesting is
// impossible.
func CanNoticeChanges() bool { return false }

// markCloseOnExec marks all inherited descriptors from firstInherited on close-on-exec. Go marks those it opens itself.
func markCloseOnExec() error { return nil }

// LimitSelf permanently lowers this process's limits on file size, open descriptors and core dumps. Children inherit
// them.
func LimitSelf(Limits) error { return nil }

// MachineMemory returns the memory of this machine in bytes; 0 if unknown.
func MachineMemory() int64 { return 0 }

// DetectFeatures returns the isolation features of this machine.
func DetectFeatures() KernelFeatures { return KernelFeatures{} }

// SandboxIdentity identifies kernel, bubblewrap and layers of this process's sandboxes. Equal identities have equal
// protection.
func (i *Isolation) SandboxIdentity() string { return runtime.GOOS + " " + runtime.GOARCH }

// FileIdentity identifies the current state of a file.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// accessOf knows of no wall here.
func accessOf(Config, Profile, string) (PathAccess, error) {
	return PathAccess{Read: true, Write: true, Why: "no kernel layer exists on this system"}, nil
}

// checkSources refuses rules whose source is missing or contains a symlink.
func checkSources(rules []ExposePath) error { return refuseExposed(rules) }
