//go:build !linux

package selftest

import (
	"context"
	"errors"
	"io"
)

// errElsewhere is the error of a self-test on another system than Linux.
var errElsewhere = errors.New("there is a self-test on Linux only")

// IsSupported reports whether there are attacks for this system.
const IsSupported = false

// RunAttacks tries to escape from this process's sandbox, and writes one Result per protection as a line of JSON. It
// changes only its targets. Check provides the arguments.
func RunAttacks([]string, io.Writer) error { return errElsewhere }

// attackSandbox runs the attacks in a sandbox with the rights of a command-running plugin.
func attackSandbox(context.Context, Options) ([]Result, error) {
	return nil, errElsewhere
}
