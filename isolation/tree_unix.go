//go:build !linux && !windows

package isolation

import (
	"fmt"
	"os"
	"syscall"
)

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
