package killswitch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxReserve limits the space reserved on the home's disk; with less free space, commands are stopped. On a small disk
// it is an eighth.
const maxReserve = 32 << 20

func reservePath(home string) string { return filepath.Join(home, "stopped.reserve") }

// reserveSize returns the size of the reserve; 0 if the disk's size is unknown.
func reserveSize(total uint64) int64 { return int64(min(maxReserve, total/8)) } //nolint:gosec // at most 32 MB

// reserveSpace allocates the reserve. Too little space is no error: no command runs then, see [CheckSpace].
func reserveSpace(home string) error {
	total, _ := diskSpace(home)
	size := reserveSize(total)
	if info, err := os.Stat(reservePath(home)); err == nil && info.Size() == size {
		return nil
	}
	file, err := openReserve(home)
	if err != nil {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	err = allocateFile(file, size)
	if err != nil {
		err = errors.Join(err, file.Truncate(0))
	}
	if err = errors.Join(err, file.Close()); err != nil && !isDiskFull(err) {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	return nil
}

// fillFile writes zeros up to a size, where the file system can't allocate.
func fillFile(file *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}

// SpaceError says that commands are stopped because the disk is nearly full.
type SpaceError struct {
	Home string
	Free uint64
	Min  int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("commands are stopped: the disk of %s has %d KB left, and the kill switch needs %d KB; delete files there",
		e.Home, e.Free>>10, e.Min>>10)
}

// CheckSpace returns a *SpaceError while the home's disk has less free space than the kill switch may need.
func CheckSpace(home string) error {
	total, free := diskSpace(home)
	if size := reserveSize(total); free < uint64(size) { //nolint:gosec // never negative
		return &SpaceError{home, free, size}
	}
	return nil
}
