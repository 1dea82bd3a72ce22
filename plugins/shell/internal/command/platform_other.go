//go:build !linux

package command

import (
	"os"
	"syscall"
)

func widen(*os.File) {}

func onTerminal() *syscall.SysProcAttr { return nil }

// handlePath is the directory's name: only Linux can name a handle.
func handlePath(dir *os.File) string { return dir.Name() }
