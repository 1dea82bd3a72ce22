package isolation

import "time"

// Limits bound what a child and its descendants may use. A zero is no limit.
//
// Processes, Memory and CPU are the whole tree's. No limit that a process inherits says that, so the tree is looked at
// every so often, and ended when it has too much: it may have more for a moment. FileSize and OpenFiles are each
// process's own, kept by the kernel.
type Limits struct {
	Processes int           // processes and threads
	Memory    int64         // bytes in memory
	CPU       time.Duration // processor time
	FileSize  int64         // bytes of one file
	OpenFiles int           // descriptors
}
