//go:build !linux && !windows

package isolation

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// processStarter starts processes without isolation.
type processStarter struct{ log hclog.Logger }

func newProcessStarter(cfg Config, _ homeLayout, log hclog.Logger, _ []string) (*processStarter, error) {
	if cfg.Enabled {
		return nil, &UnavailableError{
			Cause: "there is no isolation for " + runtime.GOOS + " yet",
			Cure:  "set isolation.enabled to false, or run on Linux",
		}
	}
	return &processStarter{log: log}, nil
}

func (*processStarter) closeStarter() {}

func (*processStarter) betweenChanges(f func()) { f() }

// applyFilterToSelf does nothing: this system has no such filter.
func (*processStarter) applyFilterToSelf(Profile) error { return nil }

// startChild starts child with the rights of p.
func (pl *processStarter) startChild(child *exec.Cmd, p Profile) (*Process, error) {
	if p.Confine {
		pl.log.Warn("the kernel of "+runtime.GOOS+" confines nothing: only the guard and the workspace confine this process",
			"profile", p.Name)
	}
	child.SysProcAttr = childAttributes(child.SysProcAttr)
	if err := child.Start(); err != nil {
		return nil, err
	}
	tree := plainProcessTree{process: child.Process}
	proc := &Process{pid: child.Process.Pid, tree: tree, done: make(chan struct{})}
	go func() {
		_, _ = child.Process.Wait()
		tree.killAll()
		proc.reapProcess(child, nil)
	}()
	return proc, nil
}

// wrapCommand sets only the environment of cmd.
func (*processStarter) wrapCommand(cmd, child *exec.Cmd, _ Profile) error {
	cmd.Env = child.Env
	return nil
}

var _ processTree = plainProcessTree{}

// plainProcessTree is the process tree of a child without isolation.
type plainProcessTree struct {
	process *os.Process
}

func (t plainProcessTree) signalAll(sig syscall.Signal) error {
	return syscall.Kill(-t.process.Pid, sig)
}

func (t plainProcessTree) killAll() { _ = syscall.Kill(-t.process.Pid, syscall.SIGKILL) }

// CgroupSupport describes the effect of control groups on this machine.
func (i *Starter) CgroupSupport() CgroupSupport {
	return CgroupSupport{Cause: "there are none on " + runtime.GOOS, Never: true}
}
