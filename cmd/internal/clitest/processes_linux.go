package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// DescendantProcesses returns the command lines of all descendants of a process, by process id.
func DescendantProcesses(root int) map[int]string {
	parents, lines := map[int]int{}, map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parents[pid], _ = strconv.Atoi(string(fields[1]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		lines[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
	}
	found := map[int]string{}
	for pid := range parents {
		for at := parents[pid]; at > 0; at = parents[at] {
			if at == root {
				found[pid] = lines[pid]
				break
			}
		}
	}
	return found
}

// CommandLines returns the command lines of processes.
func CommandLines(of map[int]string) []string {
	var all []string
	for _, line := range of {
		all = append(all, line)
	}
	return all
}
