//go:build !linux

package command

import (
	"os"
	"syscall"
)

// widenPipe enlarges a pipe's buffer, if permitted.
func widenPipe(*os.File) {}

func terminalAttributes() *syscall.SysProcAttr { return nil }

// handlePath returns a path that refers to an open directory, even if it is renamed.
func handlePath(dir *os.File) string { return dir.Name() }
