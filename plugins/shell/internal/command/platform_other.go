//go:build !linux

package command

import (
	"os"
	"syscall"
)

// enlargePipe does nothing: it is for Linux only.
func enlargePipe(*os.File) {}

// terminalAttributes returns nil: there are no terminals on this system.
func terminalAttributes() *syscall.SysProcAttr { return nil }

// pathOfOpenDir returns the directory's name, which does not follow a rename on this system.
func pathOfOpenDir(dir *os.File) string { return dir.Name() }
