//go:build !linux && !windows

package isolation

import "runtime"

// Groups says what control groups do here: nothing, they are Linux's.
func (i *Isolation) Groups() Groups {
	return Groups{Cause: "there are none on " + runtime.GOOS, Never: true}
}
