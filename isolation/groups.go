package isolation

// GroupLimits bound what a child and all its descendants use together, the commands that it starts and confines itself
// among them. The kernel keeps them, by a control group of the child's own, wherever this process may make one; nothing
// stands in elsewhere. A zero is no limit, and all zero no group.
type GroupLimits struct {
	Processes int   // processes and threads
	Memory    int64 // bytes in memory; with more, the kernel ends the largest process
	Weight    int   // the share of the processors when others want them too; 100 is everybody's
}

// Groups says what control groups do on this machine.
type Groups struct {
	Bounds []string // what they bound: "processes", "memory", "processor"
	Kill   bool     // the kernel ends all of a group in one step
	// Cause says why there are none or why they do not bound all; Cure what would change that, if anything.
	Cause, Cure string
	Never       bool // the machine can't have them, whatever is configured
}
