package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// Controllers that can limit a group.
const (
	Processes = "pids"
	Memory    = "memory"
	Processor = "cpu"
)

// usedControllers are the controllers that this package uses.
var usedControllers = []string{Processes, Memory, Processor}

// totalCPUShares returns the v1 CPU weight of all groups together: 512 per processor. A process outside the groups has
// 1024, so this process answers quickly while commands use all processors.
func totalCPUShares() string { return strconv.Itoa(512 * runtime.NumCPU()) }

// controlSetting is a control file of a group and the value to write.
type controlSetting struct {
	file, value string
	optional    bool // missing in some kernels
}

// controllerSettings returns the control files and values that set the limits of a controller.
func controllerSettings(version int, controller string, l GroupLimits) []controlSetting {
	var all []controlSetting
	switch {
	case controller == Processes && l.Processes > 0:
		all = []controlSetting{{file: "pids.max", value: strconv.Itoa(l.Processes)}}
	case controller == Memory && l.Memory > 0 && version == 2:
		// Without this, excess memory goes to swap and slows the whole machine down.
		all = []controlSetting{{file: "memory.max", value: formatDecimal(l.Memory)}, {"memory.swap.max", "0", true}}
	case controller == Memory && l.Memory > 0:
		// The second limit includes swap, and can't be lower than the first.
		all = []controlSetting{{file: "memory.limit_in_bytes", value: formatDecimal(l.Memory)},
			{"memory.memsw.limit_in_bytes", formatDecimal(l.Memory), true}}
	case controller == Processor && l.Weight > 0 && version == 2:
		all = []controlSetting{{file: "cpu.weight", value: strconv.Itoa(l.Weight)}}
	case controller == Processor && l.Weight > 0:
		all = []controlSetting{{file: "cpu.shares", value: strconv.Itoa(max(2, l.Weight*1024/100))}}
	}
	return all
}

// formatDecimal formats a number of bytes.
func formatDecimal(n int64) string { return strconv.FormatInt(n, 10) }

// writeSettings writes the settings of a group.
func writeSettings(dir string, all []controlSetting) error {
	for _, k := range all {
		if err := writeControlFile(filepath.Join(dir, k.file), k.value); err != nil && !k.optional {
			return fmt.Errorf("set %s to %s: %w", k.file, k.value, err)
		}
	}
	return nil
}

// writeControlFile writes a control file in one call. It never creates a file.
func writeControlFile(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
