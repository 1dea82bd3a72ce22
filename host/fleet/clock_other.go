//go:build !linux

package fleet

import "time"

// elapsed is a clock that only goes forward. Whether it goes on while the machine sleeps is the system's affair.
func elapsed(since time.Time) time.Duration { return time.Since(since) }
