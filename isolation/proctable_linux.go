package isolation

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procEntry is one line of the process table.
type procEntry struct {
	pid, parent, group, session int
	state                       byte
	started                     string // ticks since boot: tells a reused pid
}

// readProc reads the entry of pid.
func readProc(pid int) (procEntry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procEntry{}, false
	}
	// The name in parentheses may hold anything, also a parenthesis.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return procEntry{}, false
	}
	e := procEntry{pid: pid, state: fields[0][0], started: fields[19]}
	for n, to := range []*int{&e.parent, &e.group, &e.session} {
		if *to, err = strconv.Atoi(fields[n+1]); err != nil {
			return procEntry{}, false
		}
	}
	return e, true
}

// alive reports whether the process can still run.
func (e procEntry) alive() bool { return e.state != 'Z' && e.state != 'X' }

// olderThan reports whether the process was started before other. The start is a
// number of ticks: one with fewer digits, or lower ones, is earlier.
func (e procEntry) olderThan(other procEntry) bool {
	if len(e.started) != len(other.started) {
		return len(e.started) < len(other.started)
	}
	return e.started < other.started
}

// signal sends sig to the process, and to no other that got its pid later.
func (e procEntry) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := readProc(e.pid); !ok || now.started != e.started {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// processIDs lists every process that can be seen.
func processIDs() []int {
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

// processTable reads every process that can be seen.
func processTable() []procEntry {
	var table []procEntry
	for _, pid := range processIDs() {
		if e, ok := readProc(pid); ok {
			table = append(table, e)
		}
	}
	return table
}

// descendants returns the processes below root, parents before children.
func descendants(table []procEntry, root int) []procEntry {
	children := map[int][]procEntry{}
	for _, e := range table {
		children[e.parent] = append(children[e.parent], e)
	}
	var found []procEntry
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		found = append(found, queue[0])
		queue = append(queue, children[queue[0].pid]...)
	}
	return found
}
