//go:build !linux

package run

import (
	"context"
	"errors"
)

// RunProgram returns an error, since this operating system has no sandbox for programs.
func RunProgram(context.Context, Options, *RunPlan) (*RunResult, error) {
	return nil, errors.New("picoclaw run needs the sandbox of a Linux kernel")
}
