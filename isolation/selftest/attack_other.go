//go:build !linux

package selftest

import (
	"context"
	"errors"
	"io"
)

// errElsewhere is the error of a self-test on another system than Linux.
var errElsewhere = errors.New("there is a self-test on Linux only")

// Possible reports whether there are attacks for this system.
const Possible = false

// Attack has nothing to try here.
func Attack([]string, io.Writer) error { return errElsewhere }

func attack(context.Context, Options) ([]Result, error) {
	return nil, errElsewhere
}
