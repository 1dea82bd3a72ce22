//go:build !linux

package serve

import "time"

// adoptOrphans does nothing on this system.
func adoptOrphans() error { return nil }

// killDescendants does nothing on this system.
func killDescendants(time.Duration) {}

// disablePtrace does nothing on this system.
func disablePtrace() error { return nil }
