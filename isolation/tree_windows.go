package isolation

import (
	"os"
	"syscall"
)

func (t plainTree) signal(os.Signal) error { return t.process.Kill() }

func (t plainTree) kill() { _ = t.process.Kill() }

func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr { return given }
