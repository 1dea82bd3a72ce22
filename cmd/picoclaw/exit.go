package main

import (
	"errors"
	"fmt"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The exit codes that scripts rely on.
const (
	exitOK     = 0
	exitFailed = 1 // the tool, or what was asked for, failed
	exitUsage  = 2 // the command line is wrong
	exitStart  = 3 // the host can't start: configuration, plugins, isolation
)

// uncalled are the exit codes of errors, by their codes, with which a call did not get to its tool; that of all others
// is exitFailed. What the tool itself says of its arguments is no matter of the command line.
var uncalled = map[string]int{pluginpb.CodeInvalidArgument: exitUsage}

// exitOf is the exit code of a call.
func exitOf(r *session.Result) int {
	if r.Err == nil {
		return exitOK
	}
	if code, ok := uncalled[r.Err.Code]; ok && !r.Answered {
		return code
	}
	return exitFailed
}

// failure is an error with its exit code. Its text may be empty if all has been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is the error of a wrong command line.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// failed is the error of something that was asked for and did not work.
func failed(err error) error { return &failure{code: exitFailed, err: err} }

// cantStart is the error of a host that can't start.
func cantStart(err error) error { return &failure{code: exitStart, err: err} }

// errSaid is the error of what has been shown already.
var errSaid = errors.New("")

// codeOf is the exit code of an error.
func codeOf(err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		return f.code
	}
	return exitUsage // cobra's own errors are about the command line
}
