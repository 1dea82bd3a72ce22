//go:build !linux

package command

import (
	"os"
	"syscall"
)

// enlargePipe enlarges a pipe's buffer, if the system permits.
func enlargePipe(*os.File) {}

// terminalAttributes makes standard input the controlling terminal of the command.
func terminalAttributes() *syscall.SysProcAttr { return nil }

// openDirPath returns a path that refers to an open directory even after the directory is renamed.
func openDirPath(dir *os.File) string { return dir.Name() }
