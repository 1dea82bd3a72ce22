package killswitch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/fulldisk"
)

// Limits of the space and of the inodes that are reserved on the home's disk for stops. On a small disk, the reserve is
// an eighth of it. While less is free, commands are stopped.
const (
	maxReserve = 32 << 20
	maxInodes  = 64
)

// diskSpace is the size and free space of a disk in bytes and inodes. inodes is 0 where their number is not fixed.
type diskSpace struct{ total, free, inodes, freeInodes uint64 }

func reserveFilePath(home string) string { return filepath.Join(home, "stopped.reserve") }

// reserveFileSize returns the size of the reserve file for a disk of total bytes; 0 if total is unknown.
func reserveFileSize(total uint64) int64 { return int64(min(maxReserve, total/8)) } //nolint:gosec // at most 32 MB

// reserveSpace allocates the reserve file. Too little space is no error, because [CheckFreeSpace] then prevents
// commands.
func reserveSpace(home string) error {
	size := reserveFileSize(readDiskSpace(home).total)
	if info, err := os.Stat(reserveFilePath(home)); err == nil && info.Size() == size {
		return nil
	}
	file, err := openLockedReserveFile(home)
	if err != nil {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	err = allocateFile(file, size)
	if err != nil {
		err = errors.Join(err, file.Truncate(0))
	}
	if err = errors.Join(err, file.Close()); err != nil && !fulldisk.IsFullDiskError(err) {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	return nil
}

// fillWithZeros writes zeros up to a size, for file systems that can't allocate space.
func fillWithZeros(file *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}

// LowSpaceError says that no commands run because the home's disk is nearly full.
type LowSpaceError struct {
	Home      string
	Free, Min string // such as 12 KB
}

func (e *LowSpaceError) Error() string {
	return fmt.Sprintf("commands are stopped: the disk of %s has %s left, and the kill switch needs %s; delete files there",
		e.Home, e.Free, e.Min)
}

// CheckFreeSpace returns a *LowSpaceError while the home's disk has less free space than a stop may need.
func CheckFreeSpace(home string) error {
	disk := readDiskSpace(home)
	if size := reserveFileSize(disk.total); disk.free < uint64(size) { //nolint:gosec // never negative
		return &LowSpaceError{home, fmt.Sprint(disk.free>>10, " KB"), fmt.Sprint(size>>10, " KB")}
	}
	if least := min(maxInodes, disk.inodes/8); disk.freeInodes < least {
		return &LowSpaceError{home, fmt.Sprint(disk.freeInodes, " inodes"), fmt.Sprint(least)}
	}
	return nil
}
