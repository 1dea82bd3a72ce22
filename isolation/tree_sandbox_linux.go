package isolation

import (
	"encoding/json"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// sandboxProcessTree is a sandbox's process tree. It ends with pid 1 of its pid namespace.
type sandboxProcessTree struct {
	bwrap  *Process // bubblewrap outside, our child
	status *sandboxStatus
}

// signalAll sends sig to all processes inside except pid 1, which belongs to bubblewrap.
func (t *sandboxProcessTree) signalAll(sig syscall.Signal) error {
	t.awaitInitPID()
	for _, e := range proctable.Descendants(proctable.ReadAll(), t.bwrap.pid) {
		if e.Parent != t.bwrap.pid {
			_ = e.Signal(sig) // it may end at any moment
		}
	}
	return nil
}

// listMembers returns all processes of the sandbox, including bubblewrap.
func (t *sandboxProcessTree) listMembers() []int {
	pids := []int{t.bwrap.pid}
	for _, e := range proctable.Descendants(proctable.ReadAll(), t.bwrap.pid) {
		pids = append(pids, e.PID)
	}
	return pids
}

// limitProcesses lowers the kernel's limits of all processes in the sandbox. New processes inherit them.
func (t *sandboxProcessTree) limitProcesses(l ProcessLimits) error {
	if l.FileSize <= 0 && l.OpenFiles <= 0 {
		return nil
	}
	// Bubblewrap first, which has hardly begun: what it starts has the limits from its first moment on. The rest is for
	// what it was quicker with than this process.
	if _, err := lowerProcessLimits(t.bwrap.pid, l); err != nil {
		return err
	}
	t.awaitInitPID()
	for again := true; again; { // until nobody is found who was started before his parent had them
		again = false
		for _, pid := range t.listMembers() {
			lowered, err := lowerProcessLimits(pid, l)
			if err != nil {
				return err
			}
			again = again || lowered
		}
	}
	return nil
}

// killAll kills pid 1, so that the kernel kills all processes inside. bubblewrap itself ends after them.
func (t *sandboxProcessTree) killAll() {
	t.awaitInitPID()
	if t.status.killInit() {
		go t.killBwrapAfter(time.After(sandboxEndTimeout))
		return
	}
	markedProcessTree{leader: t.bwrap.pid}.killAll()
}

// killBwrapAfter kills bubblewrap and its descendants if it still runs at the given time.
func (t *sandboxProcessTree) killBwrapAfter(when <-chan time.Time) {
	select {
	case <-t.bwrap.done:
	case <-when:
		t.bwrap.callUnlessReaped(markedProcessTree{leader: t.bwrap.pid}.killAll)
	}
}

// awaitInitPID waits until pid 1 is known. A bubblewrap killed earlier would leave a half-made sandbox behind.
func (t *sandboxProcessTree) awaitInitPID() {
	select {
	case <-t.status.known:
	case <-t.bwrap.done:
	case <-time.After(time.Second):
	}
}

// sandboxStatus is bubblewrap's report about a sandbox: its first process and, if the program ran, the exit code.
type sandboxStatus struct {
	known chan struct{} // closed when pid 1 is known, or never will be
	ended chan struct{} // closed when bubblewrap has closed the report

	mu      sync.Mutex
	initPid int
	initFD  int // a pidfd of it, or -1
	ran     bool
}

// followStatus reads bubblewrap's report in the background until bubblewrap closes it.
func followStatus(report *os.File) *sandboxStatus {
	s := &sandboxStatus{known: make(chan struct{}), ended: make(chan struct{}), initFD: -1}
	go func() {
		defer close(s.ended)
		defer report.Close()
		once := sync.OnceFunc(func() { close(s.known) })
		defer once()
		decoder := json.NewDecoder(report)
		for {
			var line struct {
				ChildPid *int `json:"child-pid"`
				ExitCode *int `json:"exit-code"`
			}
			if decoder.Decode(&line) != nil {
				return
			}
			s.mu.Lock()
			if line.ChildPid != nil {
				s.initPid = *line.ChildPid
				if fd, err := unix.PidfdOpen(s.initPid, 0); err == nil {
					s.initFD = fd
				}
			}
			s.ran = s.ran || line.ExitCode != nil
			s.mu.Unlock()
			once()
		}
	}()
	return s
}

// checkMounts compares the mounts of the sandbox with the expected files.
func (s *sandboxStatus) checkMounts(held []expectedMount) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return checkMounts(held, s.initPid)
}

// killInit kills pid 1 of the sandbox, and so every process inside. It reports whether pid 1 was known and alive.
func (s *sandboxStatus) killInit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initFD >= 0 && unix.PidfdSendSignal(s.initFD, unix.SIGKILL, nil, 0) == nil
}

// sandboxEndTimeout limits the wait for a killed sandbox. Only processes blocked in a device driver take longer.
const sandboxEndTimeout = 5 * time.Second

// awaitInitExit waits until pid 1, and so every process inside, has ended.
func (s *sandboxStatus) awaitInitExit() {
	s.mu.Lock()
	fd := s.initFD
	s.initFD = -1
	s.mu.Unlock()
	if fd < 0 {
		return
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for until := time.Now().Add(sandboxEndTimeout); time.Now().Before(until); {
		if n, err := unix.Poll(poll, int(time.Until(until).Milliseconds())); n > 0 || err != unix.EINTR {
			return
		}
	}
}

// programRan waits for the end of the report, and reports whether the sandbox's program was started.
func (s *sandboxStatus) programRan() bool {
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}
