//go:build !unix

package main

import "os"

// hangupSignals returns none: this system has no signal at which a daemon reads its configuration again.
func hangupSignals() []os.Signal { return nil }
