package isolation

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// sandboxTree is a child in a pid namespace, which ends with its pid 1.
type sandboxTree struct {
	guard  *Process // bubblewrap outside, our child
	status *sandboxStatus
}

// signalAll sends sig to everybody inside but pid 1, which is bubblewrap's.
func (t *sandboxTree) signalAll(sig os.Signal) error {
	number, ok := sig.(unix.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	t.awaitKnown()
	for _, e := range proctable.Descendants(proctable.All(), t.guard.pid) {
		if e.Parent != t.guard.pid {
			_ = e.Signal(number) // it may end at any moment
		}
	}
	return nil
}

// listMembers returns all processes of the sandbox, including bubblewrap.
func (t *sandboxTree) listMembers() []int {
	pids := []int{t.guard.pid}
	for _, e := range proctable.Descendants(proctable.All(), t.guard.pid) {
		pids = append(pids, e.PID)
	}
	return pids
}

// limitProcesses sets per-process limits. New processes inherit them.
func (t *sandboxTree) limitProcesses(l Limits) error {
	if l.FileSize <= 0 && l.OpenFiles <= 0 {
		return nil
	}
	// Bubblewrap first, which has hardly begun: what it starts has the limits from its first moment on. The rest is for
	// what it was quicker with than this process.
	if _, err := lowerProcessLimits(t.guard.pid, l); err != nil {
		return err
	}
	t.awaitKnown()
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

// killAll kills pid 1 and leaves the guard to see it go, so that the end of the
// guard means that everybody is gone.
func (t *sandboxTree) killAll() {
	t.awaitKnown()
	if t.status.killInit() {
		go t.killGuard(time.After(sandboxEndTimeout))
		return
	}
	groupTree{leader: t.guard.pid}.killAll()
}

// killGuard kills the guard itself, with whatever it has below it, if it is
// still there when the time comes.
func (t *sandboxTree) killGuard(when <-chan time.Time) {
	select {
	case <-t.guard.done:
	case <-when:
		t.guard.unlessReaped(groupTree{leader: t.guard.pid}.killAll)
	}
}

// awaitKnown waits for the moment in which pid 1 is known. Before it, a killed
// guard would leave a half-made sandbox behind.
func (t *sandboxTree) awaitKnown() {
	select {
	case <-t.status.known:
	case <-t.guard.done:
	case <-time.After(time.Second):
	}
}
