//go:build !linux

package isolation

// KernelConfines reports whether the kernel can hold a process to its profile with nothing installed.
func KernelConfines() bool { return false }
