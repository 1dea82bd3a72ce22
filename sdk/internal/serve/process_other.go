//go:build !linux

package serve

import "time"

// adoptOrphans and endDescendants do nothing where a process can't find what it has started.
func adoptOrphans() error { return nil }

func endDescendants(time.Duration) {}

// forbidTracing does nothing: only Linux has a switch for it that costs nothing.
func forbidTracing() error { return nil }
