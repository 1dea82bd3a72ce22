//go:build !linux

package serve

import "time"

// adoptOrphans makes this process the parent of its descendants' orphans, so that it can find all of them.
func adoptOrphans() error { return nil }

// killDescendants kills all descendants and waits until they are gone, or for a time.
func killDescendants(time.Duration) {}

// disableTracing prevents other processes of the user from tracing this one and reading its memory, environment and
// descriptors. Child processes are not affected.
func disableTracing() error { return nil }
