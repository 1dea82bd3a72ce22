//go:build !linux

package isolation

// LimitSelf does nothing where the kernel has no such limits.
func LimitSelf(Limits) error { return nil }

// MachineMemory is not known here.
func MachineMemory() int64 { return 0 }
