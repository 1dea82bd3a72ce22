package isolation

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawner is one thread that starts processes and lives as long as they do.
//
// The kernel sends a child's parent-death signal when the thread that started
// it ends, not when the process does, and Go ends threads as it likes. A
// thread of our own makes the signal mean what it should: the child dies with
// this process, or with the spawner.
type spawner struct {
	jobs chan func()
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func())}
	go func() {
		// Never unlocked: the thread ends with this goroutine.
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// do runs job on the thread and waits for it.
func (s *spawner) do(job func()) {
	done := make(chan struct{})
	s.jobs <- func() {
		defer close(done)
		job()
	}
	<-done
}

// start has around start cmd on the thread. The child is sent atDeath when this process dies.
func (s *spawner) start(cmd *exec.Cmd, atDeath syscall.Signal, around func(start func() error) error) (err error) {
	cmd.SysProcAttr = childAttributes(cmd.SysProcAttr)
	cmd.SysProcAttr.Pdeathsig = atDeath
	s.do(func() { err = around(cmd.Start) })
	return err
}

// end ends the thread, and so whatever it started and still runs.
func (s *spawner) end() { close(s.jobs) }

// childAttributes gives a child a session of its own, without our terminal,
// and ties its life to the thread that starts it.
func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.Setsid = true
	attr.Setpgid = false
	return &attr
}
