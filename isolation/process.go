package isolation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrFinished is returned for a signal to an ended process.
var ErrFinished = errors.New("the process has ended")

// Process is a started child with its descendants. It is safe for concurrent use, also after the child has ended.
type Process struct {
	pid  int
	tree processTree
	done chan struct{}

	contained bool         // see IsContained
	check     func() error // see CheckSandbox; nil for no check

	// reaping is held for writing while the process is reaped. Whoever
	// signals its pid holds it for reading, and so never meets another
	// process that got the pid afterwards.
	reaping sync.RWMutex
	reaped  bool

	// exceeded is the limit that the tree was ended for, in words.
	exceeded atomic.Pointer[string]
	// stopBy is the end of Stop's grace, for descendants that end later than
	// the process itself.
	stopBy atomic.Pointer[time.Time]
	// killed says that Kill was called; oomKillLimit returns the limit for
	// which the kernel ended a process meanwhile, in words, and may be nil.
	killed       atomic.Bool
	oomKillLimit func() string

	// Set before done is closed, and not changed afterwards.
	exit ExitStatus
	err  error
}

// processTree signals and kills a child with all its descendants.
type processTree interface {
	// signalAll sends sig to all processes.
	signalAll(sig syscall.Signal) error
	// killAll kills all processes.
	killAll()
}

// Pid returns the process id of the child. For a sandbox it is bubblewrap's.
func (p *Process) Pid() int { return p.pid }

// Done returns a channel that is closed when the child has ended and its descendants are killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the process. It returns ctx's error, or a *SetupError if the sandbox failed before the
// program started. A failing program is not an error.
func (p *Process) Wait(ctx context.Context) (ExitStatus, error) {
	select {
	case <-p.done:
		return p.exit, p.err
	default:
	}
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return ExitStatus{Code: -1}, ctx.Err()
	}
}

// Signal sends sig to the process and all its descendants.
func (p *Process) Signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	err := ErrFinished
	p.callUnlessReaped(func() { err = p.tree.signalAll(number) })
	return err
}

// callUnlessReaped calls f if the process is not reaped, so that f can use its process id.
func (p *Process) callUnlessReaped(f func()) {
	p.reaping.RLock()
	defer p.reaping.RUnlock()
	if !p.reaped {
		f()
	}
}

// Stop sends SIGTERM to all processes, and kills them after grace or when ctx is done. It returns when all have ended.
func (p *Process) Stop(ctx context.Context, grace time.Duration) (ExitStatus, error) {
	by := time.Now().Add(grace)
	p.stopBy.Store(&by)
	if grace > 0 && p.Signal(syscall.SIGTERM) == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	p.Kill()
	<-p.done
	return p.exit, p.err
}

// awaitStopGrace waits, after the child has ended during Stop, until its descendants end, the grace is over, or Kill
// is called. left reports whether descendants are alive.
func (p *Process) awaitStopGrace(left func() bool) {
	by := p.stopBy.Load()
	if by == nil {
		return
	}
	for pause := time.Millisecond; time.Now().Before(*by) && !p.killed.Load() && left(); pause = min(2*pause, 20*time.Millisecond) {
		time.Sleep(pause)
	}
}

// IsContained reports whether the kernel ensures that no descendant outlives the process. Otherwise call Stop, so that
// the process can end its children.
func (p *Process) IsContained() bool { return p.contained }

// VerifyMounts returns an error if the sandbox shows unexpected files, because a writable path was replaced while the
// sandbox was created. Call it after the program has started and before you use it.
func (p *Process) VerifyMounts() error {
	if p.check == nil {
		return nil
	}
	return p.check()
}

// Kill kills the process and its descendants without waiting; see Done.
func (p *Process) Kill() {
	p.killed.Store(true)
	p.callUnlessReaped(p.tree.killAll)
}

// reapProcess reaps the ended child and sets the result of Wait. judge may replace a bad exit by an error.
func (p *Process) reapProcess(cmd *exec.Cmd, judge func(ExitStatus) error) {
	p.reaping.Lock()
	err := cmd.Wait()
	p.reaped = true
	p.reaping.Unlock()
	p.exit = exitStatus(cmd.ProcessState)
	if limit := p.exceeded.Load(); limit != nil {
		p.exit.Exceeded = *limit
	} else if p.oomKillLimit != nil && !p.killed.Load() && (p.exit.Code == exitKilled || p.exit.Signal == syscall.SIGKILL) {
		p.exit.Exceeded = p.oomKillLimit()
	}
	switch {
	case cmd.ProcessState == nil:
		p.err = err
	case judge != nil:
		p.err = judge(p.exit)
	}
	close(p.done)
}

// exitKilled is the exit status that a shell or bubblewrap reports for a killed program.
const exitKilled = 128 + 9

// ExitStatus says how a process ended.
type ExitStatus struct {
	// Code is the exit status, or 128 plus the signal's number for a process
	// that a signal ended, as shells have it. It is -1 if it is not known.
	Code int
	// Signal is the signal that ended the process, as far as it is known: a
	// sandbox reports only the code.
	Signal os.Signal
	// Exceeded describes the limits that the process was ended for, with their
	// keys in the configuration; empty for none.
	Exceeded string
}

// Success reports whether the process exited with status 0.
func (e ExitStatus) Success() bool { return e.Code == 0 && e.Signal == nil }

func (e ExitStatus) String() string {
	if e.Signal != nil {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
