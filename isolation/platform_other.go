//go:build !linux

package isolation

import (
	"os"
	"os/exec"
	"runtime"

	"github.com/hashicorp/go-hclog"
)

// machine is what of this machine the sandbox depends on: nothing.
type machine struct{}

func defaultMachine() machine { return machine{} }

// platform starts processes without isolation.
type platform struct{}

func newPlatform(cfg Config, _ layout, _ hclog.Logger, _ machine) (*platform, error) {
	if cfg.Enabled {
		return nil, &Unavailable{
			Cause: "there is no isolation for " + runtime.GOOS + " yet",
			Cure:  "set isolation.enabled to false, or run on Linux",
		}
	}
	return &platform{}, nil
}

func (*platform) close() {}

func (*platform) start(child *exec.Cmd, p Profile) (*Process, error) {
	if err := refuseConfine(p); err != nil {
		return nil, err
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

func (*platform) prepare(cmd, child *exec.Cmd, p Profile) error {
	if err := refuseConfine(p); err != nil {
		return err
	}
	cmd.Env = child.Env
	return nil
}

func refuseConfine(p Profile) error {
	if !p.Confine {
		return nil
	}
	return &Unavailable{Cause: "the kernel of " + runtime.GOOS + " cannot confine " + p.Name, Cure: "set restrict_to_workspace to false, or run on Linux"}
}

var _ tree = plainTree{}

// plainTree is a child without isolation.
type plainTree struct {
	process *os.Process
}
