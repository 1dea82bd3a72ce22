package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// What a group can bound, by the controllers' own names.
const (
	Processes = "pids"
	Memory    = "memory"
	Processor = "cpu"
)

// controllers are those that this package uses.
var controllers = []string{Processes, Memory, Processor}

// baseShares is the weight of all groups together in version 1, where each process beside them, this one too, has 1024
// on its processor.
func baseShares() string { return strconv.Itoa(1024 * runtime.NumCPU()) }

// knob is a file of a group and what is written to it.
type knob struct {
	file, value string
	optional    bool // not every kernel has it
}

// knobs are the files that keep l in a group of a version with a controller.
func knobs(version int, controller string, l Limits) []knob {
	var all []knob
	switch {
	case controller == Processes && l.Processes > 0:
		all = []knob{{file: "pids.max", value: strconv.Itoa(l.Processes)}}
	case controller == Memory && l.Memory > 0 && version == 2:
		// What has no room in memory would go to the swap, and make everybody slow.
		all = []knob{{file: "memory.max", value: bytes(l.Memory)}, {"memory.swap.max", "0", true}}
	case controller == Memory && l.Memory > 0:
		// The second includes swap, and can't be lower than the first.
		all = []knob{{file: "memory.limit_in_bytes", value: bytes(l.Memory)},
			{"memory.memsw.limit_in_bytes", bytes(l.Memory), true}}
	case controller == Processor && l.Weight > 0 && version == 2:
		all = []knob{{file: "cpu.weight", value: strconv.Itoa(l.Weight)}}
	case controller == Processor && l.Weight > 0:
		all = []knob{{file: "cpu.shares", value: strconv.Itoa(max(2, l.Weight*1024/100))}}
	}
	return all
}

func bytes(n int64) string { return strconv.FormatInt(n, 10) }

// turn writes the knobs of a group.
func turn(dir string, all []knob) error {
	for _, k := range all {
		if err := write(filepath.Join(dir, k.file), k.value); err != nil && !k.optional {
			return fmt.Errorf("set %s to %s: %w", k.file, k.value, err)
		}
	}
	return nil
}

// write writes to a file of the kernel's: in one piece, and never makes one.
func write(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
