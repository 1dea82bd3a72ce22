//go:build unix

package cli

import (
	"os"
	"syscall"
)

// HangupSignals returns the signals at which a daemon reads its configuration again.
func HangupSignals() []os.Signal { return []os.Signal{syscall.SIGHUP} }
