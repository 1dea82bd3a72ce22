//go:build !linux && !windows

package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// machine is what of this machine the sandbox depends on: nothing.
type machine struct{}

func defaultMachine() machine { return machine{} }

// platform starts processes without isolation.
type platform struct{ log hclog.Logger }

func newPlatform(cfg Config, _ layout, log hclog.Logger, _ machine) (*platform, error) {
	if cfg.Enabled {
		return nil, &Unavailable{
			Cause: "there is no isolation for " + runtime.GOOS + " yet",
			Cure:  "set isolation.enabled to false, or run on Linux",
		}
	}
	return &platform{log: log}, nil
}

func (*platform) close() {}

func (*platform) filterSelf(Profile) error { return nil }

func (pl *platform) start(child *exec.Cmd, p Profile) (*Process, error) {
	if p.Confine {
		pl.log.Warn("the kernel of "+runtime.GOOS+" confines nothing: only the guard and the workspace confine this process",
			"profile", p.Name)
	}
	child.SysProcAttr = childAttributes(child.SysProcAttr)
	if err := child.Start(); err != nil {
		return nil, err
	}
	tree := plainTree{process: child.Process}
	proc := &Process{pid: child.Process.Pid, tree: tree, done: make(chan struct{})}
	go func() {
		_, _ = child.Process.Wait()
		tree.kill()
		proc.finish(child, nil)
	}()
	return proc, nil
}

func (*platform) prepare(cmd, child *exec.Cmd, _ Profile) error {
	cmd.Env = child.Env
	return nil
}

var _ tree = plainTree{}

// plainTree is a child without isolation.
type plainTree struct {
	process *os.Process
}

func (t plainTree) signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	return syscall.Kill(-t.process.Pid, number)
}

func (t plainTree) kill() { _ = syscall.Kill(-t.process.Pid, syscall.SIGKILL) }

// childAttributes gives a child a session of its own, which is also its
// process group.
func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.Setsid = true
	attr.Setpgid = false
	return &attr
}

// Groups says what control groups do here: nothing, they are Linux's.
func (i *Isolation) Groups() Groups {
	return Groups{Cause: "there are none on " + runtime.GOOS, Never: true}
}
