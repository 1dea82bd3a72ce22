//go:build !linux

package isolation

import (
	"fmt"
	"os"
	"runtime"
)

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
