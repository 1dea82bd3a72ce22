// Package proctable reads the kernel's table of processes. It must not know whose they are.
package proctable

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ProcessEntry is the entry of one process in /proc.
type ProcessEntry struct {
	PID, Parent, Group, Session int
	State                       byte
	Threads                     int
	Ticks                       int64 // processor time, including children that it has waited for
	Pages                       int64 // resident pages
	Started                     int64 // ticks since boot; distinguishes processes with the same pid
}

// Read returns the entry of a process. The bool is false if the process does not exist.
func Read(pid int) (ProcessEntry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ProcessEntry{}, false
	}
	// The name in parentheses may hold anything, also a parenthesis.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return ProcessEntry{}, false
	}
	number := func(n int) int64 { v, _ := strconv.ParseInt(fields[n], 10, 64); return v }
	return ProcessEntry{
		PID: pid, Parent: int(number(1)), Group: int(number(2)), Session: int(number(3)), State: fields[0][0],
		Threads: int(number(17)), Ticks: number(11) + number(12) + number(13) + number(14), Pages: number(21),
		Started: number(19),
	}, true
}

// IsAlive reports whether the process can still run: it is neither a zombie nor dead.
func (e ProcessEntry) IsAlive() bool { return e.State != 'Z' && e.State != 'X' }

// Signal sends a signal to the process. It never reaches a later process with the same pid.
func (e ProcessEntry) Signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(e.PID, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := Read(e.PID); !ok || now.Started != e.Started {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// ListPIDs returns the pids of all visible processes. It returns none in a PID namespace without /proc.
func ListPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ReadAll returns the entries of all visible processes.
func ReadAll() []ProcessEntry {
	var table []ProcessEntry
	for _, pid := range ListPIDs() {
		if e, ok := Read(pid); ok {
			table = append(table, e)
		}
	}
	return table
}

// Descendants returns the processes in a table that descend from root, parents before children.
func Descendants(table []ProcessEntry, root int) []ProcessEntry {
	children := map[int][]ProcessEntry{}
	for _, e := range table {
		children[e.Parent] = append(children[e.Parent], e)
	}
	var found []ProcessEntry
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		found = append(found, queue[0])
		queue = append(queue, children[queue[0].PID]...)
	}
	return found
}
