//go:build !unix

package cli

import "os"

// HangupSignals returns none: this system has no signal at which a daemon reads its configuration again.
func HangupSignals() []os.Signal { return nil }
