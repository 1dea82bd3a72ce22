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

// RunAttacks tries to escape from this process's sandbox, and writes one AttackResult per protection as a line of
// JSON. It attacks only its targets. RunSelfTest provides the arguments.
func RunAttacks([]string, io.Writer) error { return errLinuxOnly }

// attackSandbox runs the attacks in a sandbox with the rights of a plugin that runs commands.
func attackSandbox(context.Context, Options) ([]AttackResult, error) {
	return nil, errLinuxOnly
}
