package serve

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// adoptOrphans makes this process the parent of whatever its descendants leave behind, so that nothing that it has
// started can hide from it.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// endDescendants kills everything that this process has started, however it was detached, and returns when it is gone
// or time is up.
func endDescendants(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		left := slices.DeleteFunc(proctable.Descendants(proctable.All(), os.Getpid()), func(e proctable.Entry) bool {
			return e.State == 'Z'
		})
		if len(left) == 0 {
			return // in a PID namespace /proc may be missing; the namespace ends with its first process
		}
		for _, e := range left {
			_ = unix.Kill(e.PID, unix.SIGKILL) // it may have ended just now
		}
	}
}

// forbidTracing keeps other processes of the same user from attaching to this one and from reading its memory, its
// environment and its descriptors, the instance's key among them. What the plugin starts is not affected.
func forbidTracing() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
