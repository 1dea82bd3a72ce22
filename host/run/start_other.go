//go:build !linux

package run

import (
	"context"
	"errors"
)

// Start fails: this system has no sandbox for programs.
func Start(context.Context, Options, *Plan) (*Result, error) {
	return nil, errors.New("picoclaw run needs the sandbox of a Linux kernel")
}
