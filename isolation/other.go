//go:build !linux

package isolation

import (
	"fmt"
	"os"
	"runtime"
)

// KernelConfines reports whether the kernel can hold a process to its profile with nothing installed.
func KernelConfines() bool { return false }

// TellsOfChanges reports that a child's changes to files are not noticed here.
func TellsOfChanges() bool { return false }

// closeInherited does nothing: here a child gets only what it is handed
// (Windows), or isolation is not offered.
func closeInherited() error { return nil }

// LimitSelf does nothing where the kernel has no such limits.
func LimitSelf(Limits) error { return nil }

// MachineMemory is not known here.
func MachineMemory() int64 { return 0 }

// MachineOffers says what this machine has to build walls of: nothing of Linux's.
func MachineOffers() Offers { return Offers{} }

// Identity names what the sandboxes of this process are made by.
func (i *Isolation) Identity() string { return runtime.GOOS + " " + runtime.GOARCH }

// FileIdentity names a file as it is now: once it is changed or another takes its place, the name is another.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// reach knows of no wall here.
func reach(Config, Profile, string) (Reach, error) {
	return Reach{Read: true, Write: true, Why: "no kernel layer exists on this system"}, nil
}

// checkSources refuses all rules: there is no mount view that could show anything.
func checkSources(rules []ExposePath) error { return refuseExposed(rules) }
