package halt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxReserve bounds the space that is set aside on the disk of the home, and below which commands are ended. A small
// disk has an eighth of it set aside.
const maxReserve = 32 << 20

func reservePath(home string) string { return filepath.Join(home, "stopped.reserve") }

// reserveSize returns how much space is set aside; 0 where the size of the disk is unknown.
func reserveSize(total uint64) int64 { return int64(min(maxReserve, total/8)) } //nolint:gosec // at most 32 MB

// reserve sets the space aside. A disk that has too little is no error: no command runs there, see [LowSpace].
func reserve(home string) error {
	total, _ := diskSpace(home)
	size := reserveSize(total)
	if info, err := os.Stat(reservePath(home)); err == nil && info.Size() == size {
		return nil
	}
	file, err := lockReserve(home)
	if err != nil {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	err = allocate(file, size)
	if err != nil {
		err = errors.Join(err, file.Truncate(0))
	}
	if err = errors.Join(err, file.Close()); err != nil && !isFull(err) {
		return fmt.Errorf("set space aside for the kill switch: %w", err)
	}
	return nil
}

// fill writes zeros up to a size, where the file system allocates nothing otherwise.
func fill(file *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}

// SpaceError is the error of a command on a machine whose disk is nearly full.
type SpaceError struct {
	Home string
	Free uint64
	Min  int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("commands are stopped: the disk of %s has %d KB left, and the kill switch needs %d KB; delete files there",
		e.Home, e.Free>>10, e.Min>>10)
}

// LowSpace returns a *SpaceError while the disk of the home has less space left than the kill switch may need.
func LowSpace(home string) error {
	total, free := diskSpace(home)
	if size := reserveSize(total); free < uint64(size) { //nolint:gosec // never negative
		return &SpaceError{home, free, size}
	}
	return nil
}
