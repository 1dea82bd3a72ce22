// Package limits has what a command may use, in one form for all between the configuration, the wire and the kernel.
package limits

import "time"

// Limits bound a process with all that it starts; a zero is no limit.
type Limits struct {
	Processes int           // processes and threads, of all together
	Memory    int64         // bytes in memory, of all together
	CPU       time.Duration // processor time, of all together
	FileSize  int64         // bytes of one file
	OpenFiles int           // descriptors of each process
}
