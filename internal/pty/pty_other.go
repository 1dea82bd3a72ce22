//go:build !linux

package pty

import (
	"errors"
	"os"
	"runtime"
)

var errNone = errors.New("there are no pseudo-terminals for commands on " + runtime.GOOS + "; run it without pty")

// OpenPTY fails: this system has no pseudo-terminals for commands.
func OpenPTY(Size) (control, terminal *os.File, err error) { return nil, nil, errNone }

// ResizePTY fails like OpenPTY.
func ResizePTY(*os.File, Size) error { return errNone }
