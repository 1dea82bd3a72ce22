//go:build !windows

package isolation

import (
	"os"
	"syscall"
)

// exitOf says how a reaped process ended.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}
