package workspace

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrorCode identifies an error: errors.Is(err, workspace.Exists).
type ErrorCode string

// Error codes.
const (
	Refused       ErrorCode = "refused"        // the policy refuses the path
	ReadOnly      ErrorCode = "read_only"      // a file's mode protects it
	Foreign       ErrorCode = "foreign"        // a file belongs to another user, and a change would make it this user's
	Exists        ErrorCode = "exists"         // the path exists
	NoDirectory   ErrorCode = "no_directory"   // the file's directory is missing and may not be created
	NotDirectory  ErrorCode = "not_directory"  // not a directory
	IsDirectory   ErrorCode = "is_directory"   // unexpected directory
	NotRegular    ErrorCode = "not_regular"    // not a regular file
	DirectoryName ErrorCode = "directory_name" // a file's path ends in a slash
	Same          ErrorCode = "same"           // source and destination are equal, or one contains the other
	TooLarge      ErrorCode = "too_large"      // a file exceeds the policy's limit
	Busy          ErrorCode = "busy"           // another process holds the lock

	Leftover  ErrorCode = "leftover"  // a directory is deleted, except for some content
	Unsettled ErrorCode = "unsettled" // the change is made, but may not survive a crash
	Torn      ErrorCode = "torn"      // a file is partly written; the next process completes it
	Halfway   ErrorCode = "halfway"   // of several changes one failed, and an earlier one could not be rolled back
)

func (c ErrorCode) Error() string { return string(c) }

// messages are the message formats of the error codes. Their arguments are the path and the detail.
var messages = map[ErrorCode]string{
	Refused:       "%[2]v",
	ReadOnly:      "%[1]s is read-only; its mode has to be changed first",
	Foreign:       "%[1]s belongs to another user or group, which a change by this process can't keep: %[2]v",
	Exists:        "%[1]s exists already",
	NoDirectory:   "the directory %[1]s is missing and can't be created: the policy does not allow writing there",
	NotDirectory:  "%[1]s is not a directory",
	IsDirectory:   "%[1]s is a directory",
	NotRegular:    "%[1]s is %[2]v, not a regular file",
	DirectoryName: "%[1]s ends in a slash, so it names a directory and not a file",
	Same:          "%[1]s and %[2]v are the same, or one is inside the other",
	TooLarge:      "%[1]s is %[2]v",
	Busy:          "%[1]s is locked by another process; nothing was changed, try again",
	Leftover:      "%[1]s is deleted, but something that was in it can't be; that is in %[2]v",
	Unsettled:     "the change of %[1]s is made, but it may not be on the disk: %[2]v",
	Torn: "%[1]s is written in part only; " +
		"it is finished when this program starts again and the disk takes it: %[2]v",
	Halfway: "%[1]s is changed already, and could not be changed back: %[2]v",
}

// standardErrors are the equivalent errors of package fs.
var standardErrors = map[ErrorCode]error{
	Refused: fs.ErrPermission, ReadOnly: fs.ErrPermission, Foreign: fs.ErrPermission,
	Exists: fs.ErrExist, NoDirectory: fs.ErrNotExist,
}

// Error is an error detected by the workspace itself. Errors of the operating system are [fs.PathError].
type Error struct {
	Code ErrorCode
	Path string
	Err  error // cause or detail; may be nil

	Rule string // with Refused: the deciding rule
	Hint string // with Refused: the remedy; empty if the guard has a better one
}

func (e *Error) Error() string { return fmt.Sprintf(messages[e.Code], e.Path, e.Err) }

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the equivalent in package fs, or the cause.
func (e *Error) Unwrap() error {
	if kind := standardErrors[e.Code]; kind != nil {
		return kind
	}
	return e.Err
}

// FindRefusal returns the error with the code Refused in an error's chain, or nil.
func FindRefusal(err error) *Error {
	for e := (*Error)(nil); errors.As(err, &e); err = e.Unwrap() {
		if e.Code == Refused {
			return e
		}
	}
	return nil
}

// IsNoChangeError reports whether a failed operation changed nothing, which is true for most errors.
func IsNoChangeError(err error) bool {
	for _, touched := range []ErrorCode{Leftover, Unsettled, Torn, Halfway} {
		if errors.Is(err, touched) {
			return false
		}
	}
	return err != nil
}

// FailedFile returns the path that failed among several changes, as written by the caller. It returns "" if unknown.
func FailedFile(err error) string {
	if about, ok := errors.AsType[*failedFileError](err); ok {
		return about.path
	}
	return ""
}

// failedFileError adds the path of the failed file to an error and keeps the error's message.
type failedFileError struct {
	path string
	err  error
}

func (e *failedFileError) Error() string { return e.err.Error() }
func (e *failedFileError) Unwrap() error { return e.err }

// withFailedFile adds the path of the failed file to an error, unless the error has one.
func withFailedFile(path string, err error) error {
	if errors.As(err, new(*failedFileError)) {
		return err
	}
	return &failedFileError{path, err}
}

func newRefusal(path, rule, message string) *Error {
	return &Error{Code: Refused, Path: path, Rule: rule, Err: errors.New(message)}
}

func tooLargeError(path string, size, limit int64) *Error {
	return &Error{Code: TooLarge, Path: path, Err: fmt.Errorf("%d bytes long; at most %d are allowed", size, limit)}
}

func notRegularError(path string, mode fs.FileMode) *Error {
	return &Error{Code: NotRegular, Path: path, Err: notRegularFileError(mode)}
}

// notRegularFileError is the error for a file that is not regular. Its message names the file type.
type notRegularFileError fs.FileMode

func (k notRegularFileError) Error() string {
	switch m := fs.FileMode(k); {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

// errForeign is the error of a replacement file that can't get the owner of the file it replaces.
var errForeign = fmt.Errorf("the owner can't be kept: %w", fs.ErrPermission)
