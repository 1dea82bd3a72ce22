package fleet

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is a clock that only goes forward, and goes on while the machine sleeps: those of other machines do too. Go's
// own one stands still then.
func elapsed(since time.Time) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Since(since) // by a kernel that does not have it
	}
	return time.Duration(t.Nano())
}
