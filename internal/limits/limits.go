// Package limits defines the resource limits of processes, shared by configuration, wire protocol and isolation.
package limits

import "time"

// ProcessLimits limit the resources of a process and its descendants; zero is no limit.
type ProcessLimits struct {
	Processes int           `json:"processes,omitempty"`    // processes and threads together
	Memory    int64         `json:"memory_bytes,omitempty"` // bytes of memory of all processes together
	CPU       time.Duration `json:"cpu_ns,omitempty"`       // processor time of all processes together
	FileSize  int64         `json:"file_bytes,omitempty"`   // maximum size of a file
	OpenFiles int           `json:"open_files,omitempty"`   // file descriptors per process
}
