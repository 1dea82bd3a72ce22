package isolation

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// landlockDomain is the Landlock domain of a child, and its process tree. It runs code on a thread inside the domain.
//
// Processes are born into their parent's domain and can't leave it. A thread inside can't signal processes outside. So
// kill(-1) on that thread reaches exactly the child's descendants, in one step.
type landlockDomain struct {
	*jobThread
	scoped bool // the kernel confines signals to the domain
}

func newLandlockDomain(abi int) *landlockDomain {
	return &landlockDomain{newJobThread(), abi >= scopedSignals}
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

// signalAll sends sig to all processes inside.
func (d *landlockDomain) signalAll(sig syscall.Signal) error {
	d.runOnThread(func() { _ = unix.Kill(-1, sig) }) // its error says nothing: it may be about somebody outside
	return nil
}

func (d *landlockDomain) killAll() { _ = d.signalAll(unix.SIGKILL) }

// filterPIDs returns the processes inside the domain. It excludes this process, which the thread may also signal.
func (d *landlockDomain) filterPIDs(pids []int) []int {
	var found []int
	d.runOnThread(func() {
		for _, pid := range pids {
			if pid != os.Getpid() && unix.Kill(pid, 0) == nil {
				found = append(found, pid)
			}
		}
	})
	return found
}
