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

// ErrFinished is returned when a process that has ended is to be signalled.
var ErrFinished = errors.New("the process has ended")

// Process is a running child and everything it started. Its methods can be
// called from any goroutine, and again after the end.
type Process struct {
	pid  int
	tree tree
	done chan struct{}

	contained bool         // see Contained
	check     func() error // see Check; nil for nothing to look at

	// reaping is held for writing while the process is reaped. Whoever
	// signals its pid holds it for reading, and so never meets another
	// process that got the pid afterwards.
	reaping sync.RWMutex
	reaped  bool

	// exceeded is the limit that the tree was ended for, in words.
	exceeded atomic.Pointer[string]
	// killed says that Kill was called; kernelLimit returns the limit for
	// which the kernel ended a process meanwhile, in words, and may be nil.
	killed      atomic.Bool
	kernelLimit func() string

	// Set before done is closed, and not changed afterwards.
	exit Exit
	err  error
}

// tree is what a platform knows of a child's processes.
type tree interface {
	// signal sends sig to each of them.
	signal(sig os.Signal) error
	// kill ends all of them, whatever they do against it.
	kill()
}

// Pid is the process id as this process sees it. In a sandbox it belongs to
// the process that guards it.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has exited and what it left behind has been
// killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the process. The error is ctx's, or a *SetupError
// if the sandbox failed before the program started; a program that fails is
// not an error.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, p.err
	default:
	}
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{Code: -1}, ctx.Err()
	}
}

// Signal sends sig to the process and to all its descendants.
func (p *Process) Signal(sig os.Signal) error {
	err := ErrFinished
	p.unlessReaped(func() { err = p.tree.signal(sig) })
	return err
}

// unlessReaped calls f while the pid certainly belongs to the process, and not
// at all when that is over.
func (p *Process) unlessReaped(f func()) {
	p.reaping.RLock()
	defer p.reaping.RUnlock()
	if !p.reaped {
		f()
	}
}

// Stop asks the whole tree to end with SIGTERM and, after grace or when ctx is
// done, kills it. It returns when the tree is gone.
func (p *Process) Stop(ctx context.Context, grace time.Duration) (Exit, error) {
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

// Contained reports whether nothing that the process starts can outlive it, whatever it does: the kernel sees to that.
// A process that is not is better asked to end what it has started: see Stop.
func (p *Process) Contained() bool { return p.contained }

// Check reports an error if the sandbox is not the one that was meant, as something in what its child can write was
// replaced while it was made. Call it when the program has begun, and before it does anything for anybody.
func (p *Process) Check() error {
	if p.check == nil {
		return nil
	}
	return p.check()
}

// Kill ends the whole tree at once. It does not wait for it: see Done.
func (p *Process) Kill() {
	p.killed.Store(true)
	p.unlessReaped(p.tree.kill)
}

// finish reaps the process, which has ended, and tells everybody how.
func (p *Process) finish(cmd *exec.Cmd, judge func(Exit) error) {
	p.reaping.Lock()
	err := cmd.Wait()
	p.reaped = true
	p.reaping.Unlock()
	p.exit = exitOf(cmd.ProcessState)
	if limit := p.exceeded.Load(); limit != nil {
		p.exit.Exceeded = *limit
	} else if p.kernelLimit != nil && !p.killed.Load() && (p.exit.Code == exitKilled || p.exit.Signal == syscall.SIGKILL) {
		p.exit.Exceeded = p.kernelLimit()
	}
	switch {
	case cmd.ProcessState == nil:
		p.err = err
	case judge != nil:
		p.err = judge(p.exit)
	}
	close(p.done)
}

// exitKilled is the exit status of a shell or sandbox whose program was killed.
const exitKilled = 128 + 9

// Exit is how a process ended.
type Exit struct {
	// Code is the exit status, or 128 plus the signal's number for a process
	// that a signal ended, as shells have it. It is -1 if it is not known.
	Code int
	// Signal is the signal that ended the process, as far as it is known: a
	// sandbox reports only the code.
	Signal os.Signal
	// Exceeded says which of its limits the process was ended for; empty for
	// none.
	Exceeded string
}

// Success reports whether the process ended by itself with status 0.
func (e Exit) Success() bool { return e.Code == 0 && e.Signal == nil }

func (e Exit) String() string {
	if e.Signal != nil {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
