package pluginpb

import (
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
)

// NewExecLimits puts a command's limits on the wire.
func NewExecLimits(l limits.Limits) *ExecLimits {
	return &ExecLimits{
		Processes:   int64(l.Processes),
		MemoryBytes: l.Memory,
		CpuSeconds:  int64(l.CPU.Seconds()),
		FileBytes:   l.FileSize,
		OpenFiles:   int64(l.OpenFiles),
	}
}

// Limits takes a command's limits off the wire.
func (l *ExecLimits) Limits() limits.Limits {
	return limits.Limits{
		Processes: int(l.GetProcesses()),
		Memory:    l.GetMemoryBytes(),
		CPU:       time.Duration(l.GetCpuSeconds()) * time.Second,
		FileSize:  l.GetFileBytes(),
		OpenFiles: int(l.GetOpenFiles()),
	}
}
