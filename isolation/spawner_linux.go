package isolation

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawnThread is a thread that starts processes and lives as long as they do.
//
// The kernel sends parent-death signals when the thread that started a child ends, and Go ends threads arbitrarily.
// Children of the spawner die only with this process or the spawner.
type spawnThread struct {
	jobs chan func()
}

func newSpawnThread() *spawnThread {
	s := &spawnThread{jobs: make(chan func())}
	go func() {
		// Never unlocked: the thread ends with this goroutine.
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// runOnThread runs job on the thread and waits for it.
func (s *spawnThread) runOnThread(job func()) {
	done := make(chan struct{})
	s.jobs <- func() {
		defer close(done)
		job()
	}
	<-done
}

// startProcess calls around on the thread, and passes it a function that starts cmd. cmd gets the signal atDeath when
// this process dies.
func (s *spawnThread) startProcess(cmd *exec.Cmd, atDeath syscall.Signal, around func(start func() error) error) (err error) {
	cmd.SysProcAttr = childAttributes(cmd.SysProcAttr)
	cmd.SysProcAttr.Pdeathsig = atDeath
	s.runOnThread(func() { err = around(cmd.Start) })
	return err
}

// stopThread ends the thread, and so kills its running children.
func (s *spawnThread) stopThread() { close(s.jobs) }
