package isolation

import (
	"syscall"
	"time"

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
