package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ProcessMemory is a process with its proportional share of memory.
type ProcessMemory struct {
	Name string
	MiB  float64
}

// MeasureMemory returns the memory of a process and its descendants, including those in sandboxes. It requires root,
// because plugins hide their memory from other users.
func MeasureMemory(pid int) (all []ProcessMemory, total float64, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return nil, 0, err
	}
	if total, err = proportionalSetSize(dir); err != nil {
		return nil, 0, err
	}
	all = []ProcessMemory{{strings.TrimSpace(string(name)), total}}
	threads, err := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	if err != nil {
		return nil, 0, err
	}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) { // the thread has ended
			continue
		} else if err != nil {
			return nil, 0, err
		}
		for child := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return nil, 0, err
			}
			descendants, sum, err := MeasureMemory(pid)
			if err != nil {
				return nil, 0, err
			}
			all, total = append(all, descendants...), total+sum
		}
	}
	return all, total, nil
}

// proportionalSetSize returns the proportional set size of a process in MiB. dir is its directory in /proc.
func proportionalSetSize(dir string) (float64, error) {
	data, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("memory can be measured by root only: %w", err)
	} else if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB")))
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("%s/smaps_rollup has no Pss", dir)
}
