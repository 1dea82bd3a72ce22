package isolation

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
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

// jobThread runs jobs, one at a time, on a thread that calls runJobs.
type jobThread struct {
	jobs    chan func()
	quit    chan struct{} // closed to end the thread
	stopped chan struct{} // closed when the thread works no more
}

func newJobThread() *jobThread {
	return &jobThread{jobs: make(chan func()), quit: make(chan struct{}), stopped: make(chan struct{})}
}

// runJobs runs the jobs of runOnThread on the calling thread until stopThread.
func (s *jobThread) runJobs() {
	defer close(s.stopped)
	for {
		select {
		case job := <-s.jobs:
			job()
		case <-s.quit:
			return
		}
	}
}

// stopThread ends the thread, which kills children with a parent-death signal.
func (s *jobThread) stopThread() { close(s.quit) }

// runOnThread runs job on the thread and waits for it. It does nothing after stopThread.
func (s *jobThread) runOnThread(job func()) {
	done := make(chan struct{})
	select {
	case s.jobs <- func() { defer close(done); job() }:
		<-done
	case <-s.stopped:
	}
}

// newSpawnThread returns a thread that starts processes and lives as long as they do.
//
// The kernel sends parent-death signals when the thread that started a child ends, and Go ends threads arbitrarily.
// Children of this thread die only with this process or the thread.
func newSpawnThread() *jobThread {
	s := newJobThread()
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		s.runJobs()
	}()
	return s
}

// startProcess calls around on the thread, and passes it a function that starts cmd. cmd gets the signal atDeath when
// this process dies.
func (s *jobThread) startProcess(cmd *exec.Cmd, atDeath syscall.Signal, around func(start func() error) error) (err error) {
	cmd.SysProcAttr = childAttributes(cmd.SysProcAttr)
	cmd.SysProcAttr.Pdeathsig = atDeath
	s.runOnThread(func() { err = around(cmd.Start) })
	return err
}
