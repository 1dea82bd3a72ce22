package workspace

import (
	"errors"
	"fmt"
	"io/fs"
)

// Code says what is wrong with a use of the workspace. errors.Is(err, workspace.Exists) reports whether an error says
// so.
type Code string

// The codes.
const (
	Refused       Code = "refused"        // the policy does not open the path
	ReadOnly      Code = "read_only"      // a file's mode protects it, though its directory would let it be replaced
	Foreign       Code = "foreign"        // a file is somebody else's, and a change would make it this user's
	Exists        Code = "exists"         // something is there already
	NoDirectory   Code = "no_directory"   // a file's directory is missing and may not be made
	NotDirectory  Code = "not_directory"  // something else is where a directory is needed
	IsDirectory   Code = "is_directory"   // a directory is where none is wanted
	NotRegular    Code = "not_regular"    // something else is where a regular file is needed
	DirectoryName Code = "directory_name" // a file's path ends as only a directory's does
	Same          Code = "same"           // a source is its own destination, or contains it
	TooLarge      Code = "too_large"      // a file is over the policy's limit
	Busy          Code = "busy"           // another process has kept a directory locked

	// Of these something was changed; see [Untouched].
	Leftover  Code = "leftover"  // a directory is deleted, while something that was in it could not be
	Unsettled Code = "unsettled" // a change is made, and a machine that stops now may not have it afterwards
	Torn      Code = "torn"      // a file could be written in part only; the next process finishes it
	Halfway   Code = "halfway"   // of several changes one could not be made, and one before it not be taken back
)

func (c Code) Error() string { return string(c) }

// sentences are what errors say, of their path and what else there is to it.
var sentences = map[Code]string{
	Refused:       "%[2]v",
	ReadOnly:      "%[1]s is read-only; its mode has to be changed first",
	Foreign:       "%[1]s belongs to another user or group, which a change by this process can't keep: %[2]v",
	Exists:        "%[1]s exists already",
	NoDirectory:   "the directory %[1]s is missing, and the policy does not open it for writing: it can't be made",
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

// kinds are what else errors are.
var kinds = map[Code]error{
	Refused: fs.ErrPermission, ReadOnly: fs.ErrPermission, Foreign: fs.ErrPermission,
	Exists: fs.ErrExist, NoDirectory: fs.ErrNotExist,
}

// Error is what the workspace says itself of a path; what the operating system says is an [fs.PathError].
type Error struct {
	Code Code
	Path string
	Err  error // the cause, or what else there is to say; may be nil

	Rule string // with Refused, the rule that refused
	Hint string // with Refused, what would change that; empty where the guard knows better
}

func (e *Error) Error() string { return fmt.Sprintf(sentences[e.Code], e.Path, e.Err) }

// Is reports whether the target is the error's code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns what else the error is, such as [fs.ErrPermission] for a refusal, or its cause.
func (e *Error) Unwrap() error {
	if kind := kinds[e.Code]; kind != nil {
		return kind
	}
	return e.Err
}

// Refusal returns the refusal that an error is or was caused by, nil if there is none.
func Refusal(err error) *Error {
	for e := (*Error)(nil); errors.As(err, &e); err = e.Unwrap() {
		if e.Code == Refused {
			return e
		}
	}
	return nil
}

// Untouched reports whether an error of a change says that nothing was changed, as all do but a few.
func Untouched(err error) bool {
	for _, touched := range []Code{Leftover, Unsettled, Torn, Halfway} {
		if errors.Is(err, touched) {
			return false
		}
	}
	return err != nil
}

// FileOf returns the file that a change of several has failed with, as the caller wrote it; empty if the error does
// not say.
func FileOf(err error) string {
	var about *fileError
	if errors.As(err, &about) {
		return about.path
	}
	return ""
}

// fileError says which of several files a change failed with. It adds nothing to the message.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// of says that an error is about a file, unless it says so already.
func of(path string, err error) error {
	if errors.As(err, new(*fileError)) {
		return err
	}
	return &fileError{path, err}
}

func refused(path, rule, message string) *Error {
	return &Error{Code: Refused, Path: path, Rule: rule, Err: errors.New(message)}
}

func tooLarge(path string, size, limit int64) *Error {
	return &Error{Code: TooLarge, Path: path, Err: fmt.Errorf("%d bytes long; at most %d are allowed", size, limit)}
}

func notRegular(path string, mode fs.FileMode) *Error {
	return &Error{Code: NotRegular, Path: path, Err: kind(mode)}
}

// kind is what something is that is no regular file.
type kind fs.FileMode

func (k kind) Error() string {
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

// errForeign says that what is to take the place of a file can't be given to the file's owner.
var errForeign = fmt.Errorf("the owner can't be kept: %w", fs.ErrPermission)
