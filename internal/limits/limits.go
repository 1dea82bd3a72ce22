// Package limits has what a command may use, in one form for all between the configuration, the wire and the kernel.
package limits

import "time"

// Limits bound a process with all that it starts; a zero is no limit.
type Limits struct {
	Processes int           `json:"processes,omitempty"`    // processes and threads, of all together
	Memory    int64         `json:"memory_bytes,omitempty"` // bytes in memory, of all together
	CPU       time.Duration `json:"cpu_ns,omitempty"`       // processor time, of all together
	FileSize  int64         `json:"file_bytes,omitempty"`   // bytes of one file
	OpenFiles int           `json:"open_files,omitempty"`   // descriptors of each process
}
