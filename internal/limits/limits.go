// Package limits defines the resource limits of processes, shared by configuration, wire protocol and isolation.
package limits

import (
	"regexp"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
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

// Errors by which programs report that the kernel enforces a limit.
var (
	forkErrors = lazyregexp.New(`(?i)fork: (?:retry: )?resource temporarily unavailable|cannot fork|can't start new thread`)
	sizeErrors = lazyregexp.New(`EFBIG|SIGXFSZ|(?i)file too large|file size limit exceeded`)
	openErrors = lazyregexp.New(`EMFILE|(?im)too many open files(?:$|[^ ]| [^i])`) // not: in system
)

// FullKey returns a key with the section of the limits.
func (l ProcessLimits) FullKey(key string) string {
	return strings.TrimPrefix(l.Section+"."+key, ".")
}

// ReachedKeys returns the full keys of the limits that a process was ended for, whose description contains them, or
// that its output reports.
func (l ProcessLimits) ReachedKeys(ended, output string) []string {
	var reached []string
	for _, limit := range []struct {
		key    string
		isSet  bool
		errors func() *regexp.Regexp
	}{
		{ProcessesKey, l.Processes > 0, forkErrors},
		{MemoryKey, l.Memory > 0, nil},
		{CPUKey, l.CPU > 0, nil},
		{FileSizeKey, l.FileSize > 0, sizeErrors},
		{OpenFilesKey, l.OpenFiles > 0, openErrors},
	} {
		key := l.FullKey(limit.key)
		if limit.isSet && (strings.Contains(ended, key) || limit.errors != nil && limit.errors().MatchString(output)) {
			reached = append(reached, key)
		}
	}
	return reached
}
