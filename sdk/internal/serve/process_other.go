//go:build !linux

package serve

import "time"

// adoptOrphans makes this process the parent of orphaned descendants, so that it can find all of them.
func adoptOrphans() error { return nil }

// killDescendants kills all descendants and waits until they are gone, at most for a duration.
func killDescendants(time.Duration) {}

// disableTracing prevents other processes of the user from tracing this process and reading its memory, environment and
// descriptors. It does not affect child processes.
func disableTracing() error { return nil }
