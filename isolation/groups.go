package isolation

import "github.com/picoclaw/picoclaw/isolation/internal/cgroup"

// GroupLimits bound what a child and all its descendants use together, the commands that it starts and confines itself
// among them. The kernel keeps them, by a control group of the child's own, wherever this process may make one; nothing
// stands in elsewhere. A zero is no limit, and all zero no group.
type GroupLimits cgroup.Limits

// Groups says what control groups do on this machine.
type Groups struct {
	Bounds []string // what they bound: "processes", "memory", "processor"
	Kill   bool     // the kernel ends all of a group in one step
	// Cause says why there are none or why they do not bound all; Cure what would change that, if anything.
	Cause, Cure string
	Never       bool // the machine can't have them, whatever is configured
}
