//go:build unix

package main

import (
	"os"
	"syscall"
)

// hangupSignals returns the signals at which a daemon reads its configuration again.
func hangupSignals() []os.Signal { return []os.Signal{syscall.SIGHUP} }
