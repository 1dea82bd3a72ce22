//go:build !linux

package pty

import (
	"errors"
	"os"
	"runtime"
)

var errNone = errors.New("there are no pseudo-terminals for commands on " + runtime.GOOS + "; run it without pty")

// Open fails: this system has no pseudo-terminals that commands could be given.
func Open(Size) (control, terminal *os.File, err error) { return nil, nil, errNone }

// Resize fails as Open does.
func Resize(*os.File, Size) error { return errNone }
