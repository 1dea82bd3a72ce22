package cli

import (
	"errors"
	"fmt"
)

// The exit codes that scripts rely on.
const (
	ExitOK     = 0
	ExitFailed = 1 // the tool, or what was asked for, failed
	ExitUsage  = 2 // the command line is wrong
	ExitStart  = 3 // the host can't start: configuration, plugins, isolation
)

// Error is an error with its exit code. Its text may be empty if all has been said.
type Error struct {
	Code int
	Err  error
}

func (f *Error) Error() string { return f.Err.Error() }

func (f *Error) Unwrap() error { return f.Err }

// Usagef is the error of a wrong command line.
func Usagef(format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Fail is the error of something that was asked for and did not work.
func Fail(err error) error { return &Error{Code: ExitFailed, Err: err} }

// CannotStart is the error of a host that can't start.
func CannotStart(err error) error { return &Error{Code: ExitStart, Err: err} }

// ErrReported is an error that the command has already shown.
const ErrReported = reportedError("")

type reportedError string

func (e reportedError) Error() string { return string(e) }

// ExitCode is the exit code of an error.
func ExitCode(err error) int {
	var f *Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &f):
		return f.Code
	}
	return ExitUsage // cobra's own errors are about the command line
}

// FailOrNil is the error of what was asked for and failed; nil for none.
func FailOrNil(err error) error {
	if err == nil {
		return nil
	}
	return Fail(err)
}
