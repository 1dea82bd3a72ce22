package serve

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// adoptOrphans makes this process the parent of orphaned descendants, so that it can find all of them.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// killDescendants kills all descendants and waits until they are gone, at most for a duration.
func killDescendants(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		left := slices.DeleteFunc(proctable.Descendants(proctable.ReadAll(), os.Getpid()), func(e proctable.ProcessEntry) bool {
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

// disablePtrace prevents other processes of the user from tracing this process and reading its memory, environment and
// descriptors. It does not affect child processes.
func disablePtrace() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
