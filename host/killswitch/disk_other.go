//go:build !linux

package killswitch

import "os"

// readDiskSpace returns zero: the disk space is unknown on this system.
func readDiskSpace(string) diskSpace { return diskSpace{} }

// allocateFile sets the size of a file and allocates its space.
func allocateFile(file *os.File, size int64) error { return fillWithZeros(file, size) }
