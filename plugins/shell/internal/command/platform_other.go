//go:build !linux

package command

import (
	"os"
	"syscall"
)

func widen(*os.File) {}

func onTerminal() *syscall.SysProcAttr { return nil }
