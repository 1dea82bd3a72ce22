package isolation

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// landlockDomain is the Landlock domain of a child. It runs code on a thread inside the domain.
//
// Processes are born into their parent's domain and can't leave it. A thread inside can't signal processes outside. So
// kill(-1) on that thread reaches exactly the child's descendants, in one step.
type landlockDomain struct {
	jobs    chan func()
	quit    chan struct{} // closed to end the thread
	stopped chan struct{} // closed when the thread works no more
	// the kernel confines signals to the domain
	scoped bool
}

func newLandlockDomain(abi int) *landlockDomain {
	return &landlockDomain{jobs: make(chan func()), quit: make(chan struct{}), stopped: make(chan struct{}),
		scoped: abi >= scopedSignals}
}

// scopedSignals is the first Landlock version that confines signals.
const scopedSignals = LandlockScope

// checkSignalScope returns an error if the calling thread can signal the parent of this process. kill(-1) on such a
// thread would end every process of this user.
func (d *landlockDomain) checkSignalScope() error {
	if d.scoped && unix.Kill(os.Getppid(), 0) == nil {
		return errors.New("Landlock does not keep signals inside the domain of this process; nothing is started")
	}
	return nil
}

// runJobs runs the jobs of runInside on the calling thread until stopThread. The thread must be inside the domain.
func (d *landlockDomain) runJobs() {
	defer close(d.stopped)
	for {
		select {
		case job := <-d.jobs:
			job()
		case <-d.quit:
			return
		}
	}
}

// stopThread ends the thread inside the domain, which kills the child.
func (d *landlockDomain) stopThread() { close(d.quit) }

// runInside runs job inside the domain and waits for it. It does nothing after stopThread.
func (d *landlockDomain) runInside(job func()) {
	done := make(chan struct{})
	select {
	case d.jobs <- func() { defer close(done); job() }:
		<-done
	case <-d.stopped:
	}
}

// signalAll sends sig to all processes inside.
func (d *landlockDomain) signalAll(sig unix.Signal) {
	d.runInside(func() { _ = unix.Kill(-1, sig) }) // its error says nothing: it may be about somebody outside
}

// filterInside returns the processes inside the domain. It excludes this process, which the thread may also signal.
func (d *landlockDomain) filterInside(pids []int) []int {
	var found []int
	d.runInside(func() {
		for _, pid := range pids {
			if pid != os.Getpid() && unix.Kill(pid, 0) == nil {
				found = append(found, pid)
			}
		}
	})
	return found
}

// landlockProcessTree is a child's process tree in a Landlock domain that confines signals.
type landlockProcessTree struct {
	leader int
	domain *landlockDomain
}

func (t landlockProcessTree) signalAll(sig os.Signal) error {
	number, ok := sig.(unix.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	t.domain.signalAll(number)
	return nil
}

func (t landlockProcessTree) killAll() { t.domain.signalAll(unix.SIGKILL) }

func (t landlockProcessTree) filterPIDs(pids []int) []int { return t.domain.filterInside(pids) }
