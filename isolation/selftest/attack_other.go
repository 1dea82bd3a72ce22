//go:build !linux

package selftest

import (
	"context"
	"errors"
	"io"
)

// errLinuxOnly is the error of a self-test on other systems than Linux.
var errLinuxOnly = errors.New("there is a self-test on Linux only")

// IsSupported reports whether this operating system has attacks to run.
const IsSupported = false

// RunAttacks returns an error: this operating system has no attacks to run.
func RunAttacks([]string, io.Writer) error { return errLinuxOnly }

// attackSandbox runs the attacks in a sandbox with the rights of a plugin that runs commands.
func attackSandbox(context.Context, Options) ([]AttackResult, error) {
	return nil, errLinuxOnly
}
