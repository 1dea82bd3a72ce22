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

// machineConfig lists the parts of this machine the sandbox depends on.
type machineConfig struct{}

func defaultMachineConfig() machineConfig { return machineConfig{} }

// platform starts processes without isolation.
type platform struct{ log hclog.Logger }

func newPlatform(cfg Config, _ homeLayout, log hclog.Logger, _ machineConfig) (*platform, error) {
	if cfg.Enabled {
		return nil, &UnavailableError{
			Cause: "there is no isolation for " + runtime.GOOS + " yet",
			Cure:  "set isolation.enabled to false, or run on Linux",
		}
	}
	return &platform{log: log}, nil
}

func (*platform) closePlatform() {}

// applyFilterToSelf applies the filter of p's children to this process.
func (*platform) applyFilterToSelf(Profile) error { return nil }

// startChild starts child with p's rights.
func (pl *platform) startChild(child *exec.Cmd, p Profile) (*Process, error) {
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
		tree.killAll()
		proc.reapProcess(child, nil)
	}()
	return proc, nil
}

// prepareCommand rewrites cmd to run child with p's rights.
func (*platform) prepareCommand(cmd, child *exec.Cmd, _ Profile) error {
	cmd.Env = child.Env
	return nil
}

var _ processTree = plainTree{}

// plainTree is a child without isolation.
type plainTree struct {
	process *os.Process
}

func (t plainTree) signalAll(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	return syscall.Kill(-t.process.Pid, number)
}

func (t plainTree) killAll() { _ = syscall.Kill(-t.process.Pid, syscall.SIGKILL) }

// childAttributes gives a child its own session without our terminal.
func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.Setsid = true
	attr.Setpgid = false
	return &attr
}

// CgroupSupport describes the effect of control groups on this machine.
func (i *Isolation) CgroupSupport() CgroupSupport {
	return CgroupSupport{Cause: "there are none on " + runtime.GOOS, Never: true}
}
