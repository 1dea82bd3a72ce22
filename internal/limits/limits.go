// Package limits defines the resource limits of processes, shared by configuration, wire protocol and isolation.
package limits

import (
	"slices"
	"strings"
	"time"
)

// ProcessLimits limit the resources of a process and its descendants; zero is no limit.
type ProcessLimits struct {
	Processes int           `json:"processes,omitempty"`    // processes and threads together
	Memory    int64         `json:"memory_bytes,omitempty"` // bytes of memory of all processes together
	CPU       time.Duration `json:"cpu_ns,omitempty"`       // processor time of all processes together
	FileSize  int64         `json:"file_bytes,omitempty"`   // maximum size of a file
	OpenFiles int           `json:"open_files,omitempty"`   // file descriptors per process
	Section   string        `json:"section,omitempty"`      // configuration section of the limits, for messages
}

// The keys of the limits in their section of the configuration.
const (
	ProcessesKey = "processes"
	MemoryKey    = "memory"
	CPUKey       = "cpu_seconds"
	FileSizeKey  = "file_size"
	OpenFilesKey = "open_files"
)

// FullKey returns a key with the section of the limits.
func (l ProcessLimits) FullKey(key string) string {
	return strings.TrimPrefix(l.Section+"."+key, ".")
}

// ReachedLimitKeys returns the full keys of the limits that a process reached: those in ended, the reason for its end,
// or in its output.
func (l ProcessLimits) ReachedLimitKeys(ended, output string) []string {
	output = strings.ReplaceAll(strings.ToLower(output), "too many open files in system", "")
	var reached []string
	for _, limit := range []struct {
		key    string
		isSet  bool
		errors []string // by which programs report that the kernel enforces the limit
	}{
		{ProcessesKey, l.Processes > 0, []string{"fork: resource temporarily unavailable",
			"fork: retry: resource temporarily unavailable", "cannot fork", "can't start new thread"}},
		{MemoryKey, l.Memory > 0, nil},
		{CPUKey, l.CPU > 0, nil},
		{FileSizeKey, l.FileSize > 0, []string{"efbig", "sigxfsz", "file too large", "file size limit exceeded"}},
		{OpenFilesKey, l.OpenFiles > 0, []string{"emfile", "too many open files"}},
	} {
		key := l.FullKey(limit.key)
		reports := func(text string) bool { return strings.Contains(output, text) }
		if limit.isSet && (strings.Contains(ended, key) || slices.ContainsFunc(limit.errors, reports)) {
			reached = append(reached, key)
		}
	}
	return reached
}
