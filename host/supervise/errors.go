package supervise

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CrashError is the error of a call whose plugin process ended under it. Whether the tool had done its work by then is
// not known, so the call is not made again.
type CrashError struct {
	Plugin string
	Exit   string // such as "exit status 2" or "signal: killed"
	Stderr string // the last that it said
	Last   bool   // it was one crash too many: the plugin is not started any more
}

func (e *CrashError) Error() string {
	text := fmt.Sprintf("plugin %s ended during the call (%s); the outcome is unknown", e.Plugin, e.Exit)
	if e.Stderr != "" {
		text += "\nits last words were:\n  " + indented(e.Stderr)
	}
	return text
}

// startError is the error of a plugin that did not come to where it takes calls.
type startError struct {
	plugin string
	ran    bool // its process was there
	err    error
}

func (e *startError) Error() string { return fmt.Sprintf("start plugin %s: %v", e.plugin, e.err) }
func (e *startError) Unwrap() error { return e.err }

// reason strips gRPC's dressing off an error that says what is wrong in words of its own.
func reason(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.ResourceExhausted:
		return fmt.Errorf("the message is too large: %s", s.Message())
	case codes.Unimplemented:
		return errors.New("it does not know this part of picoclaw's protocol")
	}
	return errors.New(indented(s.Message()))
}

// indented returns what a plugin has said with its further lines indented, so that none is taken for one of the host's.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// FullError is the error of a call that would have needed one instance more than its owner may have, while all others
// were in use.
type FullError struct {
	Owner string
	Most  int
	Cause error // why it was not waited for any longer
}

func (e *FullError) Error() string {
	return fmt.Sprintf("all %d plugin processes of %s are in use: %v", e.Most, e.Owner, e.Cause)
}

// Unwrap returns the cause.
func (e *FullError) Unwrap() error { return e.Cause }
