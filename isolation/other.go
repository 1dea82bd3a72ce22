//go:build !linux

package isolation

import (
	"fmt"
	"os"
	"runtime"
)

// SupportsConfine reports whether Profile.Confine works on this machine, by Landlock.
func SupportsConfine() bool { return false }

// CanNoticeChanges reports whether [Profile.Notice] works in this process. Older kernels lack it, and so do processes
// that are observed themselves.
func CanNoticeChanges() bool { return false }

// markCloseOnExec does nothing on this system.
func markCloseOnExec() error { return nil }

// LimitSelf does nothing on this system.
func LimitSelf(ProcessLimits) error { return nil }

// MachineMemory returns 0: the memory is unknown on this system.
func MachineMemory() int64 { return 0 }

// DetectFeatures returns the isolation features of this machine.
func DetectFeatures() KernelFeatures { return KernelFeatures{} }

// SandboxIdentity returns text that identifies kernel, bubblewrap and layers of this process's sandboxes. Sandboxes
// with equal identities have equal protection.
func (i *Starter) SandboxIdentity() string { return runtime.GOOS + " " + runtime.GOARCH }

// FileIdentity returns text that changes whenever the file changes.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// accessOf returns full access: no kernel layer restricts paths here.
func accessOf(Config, Profile, string) (PathAccess, error) {
	return PathAccess{Read: true, Write: true, Why: "no kernel layer exists on this system"}, nil
}

// checkExposeSources refuses all rules: no path can be exposed here.
func checkExposeSources(rules []ExposedPath) error { return refuseExposedPaths(rules) }
