//go:build !unix

package cli

import "os"

// ReloadSignals returns the signals that make a daemon reload its configuration: SIGHUP, or none on Windows.
func ReloadSignals() []os.Signal { return nil }
