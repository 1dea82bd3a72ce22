package isolation

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

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
