package isolation

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sandboxStatus follows bubblewrap's report: first the sandbox's pid 1, finally the program's exit code, which is
// missing if it never started.
type sandboxStatus struct {
	known chan struct{} // closed when pid 1 is known, or never will be
	ended chan struct{} // closed when bubblewrap has closed the report

	mu      sync.Mutex
	initPid int
	initFD  int // a pidfd of it, or -1
	ran     bool
}

// followStatus reads the report until bubblewrap closes it.
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

// checkMounts checks the mounts of the sandbox once they exist.
func (s *sandboxStatus) checkMounts(held []checkedMount) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return checkMounts(held, s.initPid)
}

// killInit kills pid 1 of the sandbox and with it, by the kernel, everybody
// inside. It reports whether there was one to kill.
func (s *sandboxStatus) killInit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initFD >= 0 && unix.PidfdSendSignal(s.initFD, unix.SIGKILL, nil, 0) == nil
}

// sandboxEndTimeout limits the wait for a killed sandbox. Only processes blocked in a device driver take longer.
const sandboxEndTimeout = 5 * time.Second

// awaitInit waits until pid 1, and so everybody inside, is gone.
func (s *sandboxStatus) awaitInit() {
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

// programRan reports whether the program inside was started, once the report has
// ended.
func (s *sandboxStatus) programRan() bool {
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}
