// Package proctable reads the kernel's table of processes. It must not know whose they are.
package proctable

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Entry is one line of the table.
type Entry struct {
	PID, Parent, Group, Session int
	State                       byte
	Threads                     int
	Ticks                       int64 // processor time, with that of the children that it has waited for
	Pages                       int64 // resident ones
	Started                     int64 // ticks since boot: tells a reused pid
}

// Read reads the entry of pid.
func Read(pid int) (Entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Entry{}, false
	}
	// The name in parentheses may hold anything, also a parenthesis.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return Entry{}, false
	}
	number := func(n int) int64 { v, _ := strconv.ParseInt(fields[n], 10, 64); return v }
	return Entry{
		PID: pid, Parent: int(number(1)), Group: int(number(2)), Session: int(number(3)), State: fields[0][0],
		Threads: int(number(17)), Ticks: number(11) + number(12) + number(13) + number(14), Pages: number(21),
		Started: number(19),
	}, true
}

// Alive reports whether the process can still run.
func (e Entry) Alive() bool { return e.State != 'Z' && e.State != 'X' }

// Signal sends sig to the process, and to no other that got its pid later.
func (e Entry) Signal(sig unix.Signal) error {
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

// IDs lists every process that can be seen. In a PID namespace /proc may be missing.
func IDs() []int {
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

// All reads every process that can be seen.
func All() []Entry {
	var table []Entry
	for _, pid := range IDs() {
		if e, ok := Read(pid); ok {
			table = append(table, e)
		}
	}
	return table
}

// Descendants returns the processes in a table below root, parents before children.
func Descendants(table []Entry, root int) []Entry {
	children := map[int][]Entry{}
	for _, e := range table {
		children[e.Parent] = append(children[e.Parent], e)
	}
	var found []Entry
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		found = append(found, queue[0])
		queue = append(queue, children[queue[0].PID]...)
	}
	return found
}
