//go:build unix

package main

import (
	"os"
	"syscall"
)

// hangup are the signals at which a daemon reads its configuration again.
var hangup = []os.Signal{syscall.SIGHUP}
