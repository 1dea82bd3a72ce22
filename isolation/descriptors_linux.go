package isolation

import (
	"errors"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor after standard error.
const firstInherited = 3

// markCloseOnExec marks all inherited descriptors from firstInherited on close-on-exec. Go marks its own descriptors.
func markCloseOnExec() error {
	err := unix.CloseRange(firstInherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return os.NewSyscallError("close_range", err)
	}
	return markEachCloseOnExec()
}

// markEachCloseOnExec marks descriptors one by one, for kernels without close_range.
func markEachCloseOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= firstInherited {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
