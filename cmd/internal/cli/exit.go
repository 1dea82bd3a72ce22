package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
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

// StartError returns err with exit code 3: the host can't start. It returns nil for nil.
func StartError(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitStart, Err: err}
}

// ErrReported is an error that the command has already shown.
var ErrReported = errors.New("")

// ReportedFailure returns the error of a command that has printed its result: the error of the print or, if the result
// is a failure, exit code 1 without a message.
func ReportedFailure(failed bool, printed error) error {
	if printed != nil || !failed {
		return printed
	}
	return FailedError(ErrReported)
}

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

// firstErrorWriter is standard output that remembers the first write error. So a lost result makes the command fail.
type firstErrorWriter struct {
	*os.File

	mu  sync.Mutex
	err error // the first
}

// NewFirstErrorWriter wraps stdout in a firstErrorWriter. It returns stdout unchanged if stdout is no file.
func NewFirstErrorWriter(stdout io.Writer) io.Writer {
	if f, ok := stdout.(*os.File); ok {
		return &firstErrorWriter{File: f}
	}
	return stdout
}

func (r *firstErrorWriter) Write(data []byte) (int, error) {
	n, err := r.File.Write(data)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = err
		}
	}
	return n, err
}

// FirstWriteError returns the first error of writing results to stdout; nil if all were written.
func FirstWriteError(stdout io.Writer) error {
	r, ok := stdout.(*firstErrorWriter)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
