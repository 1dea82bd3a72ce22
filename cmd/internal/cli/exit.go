package cli

import (
	"errors"
	"fmt"
)

// Exit codes, on which scripts rely.
const (
	ExitOK     = 0
	ExitFailed = 1 // the tool or the requested operation failed
	ExitUsage  = 2 // the command line is wrong
	ExitStart  = 3 // the host can't start: configuration, plugins, isolation
)

// ExitError is an error with an exit code. Its text may be empty if the command has already shown the error.
type ExitError struct {
	Code int
	Err  error
}

func (f *ExitError) Error() string { return f.Err.Error() }

func (f *ExitError) Unwrap() error { return f.Err }

// UsageErrorf returns an error about a wrong command line, with exit code 2.
func UsageErrorf(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// FailedError returns err with exit code 1: the requested operation failed. It returns nil for nil.
func FailedError(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitFailed, Err: err}
}

// StartError returns err with exit code 3: the host can't start.
func StartError(err error) error { return &ExitError{Code: ExitStart, Err: err} }

// ErrReported is an error that the command has already shown.
const ErrReported = reportedError("")

type reportedError string

func (e reportedError) Error() string { return string(e) }

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	var f *ExitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &f):
		return f.Code
	}
	return ExitUsage // cobra's own errors are about the command line
}
