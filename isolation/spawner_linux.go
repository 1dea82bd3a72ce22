package isolation

import (
	"os/exec"
	"runtime"
	"syscall"
)

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
