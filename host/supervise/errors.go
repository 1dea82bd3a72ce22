package supervise

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CrashError reports that a plugin ended during a call. The host does not repeat the call because it may be complete.
type CrashError struct {
	Plugin       string
	Exit         string // as "exit status 2" or "signal: killed"
	Stderr       string // end of standard error
	LimitReached bool   // the plugin will not be started again
}

// Error describes the crash and includes the end of standard error.
func (e *CrashError) Error() string {
	text := fmt.Sprintf("plugin %s ended during the call (%s); the outcome is unknown", e.Plugin, e.Exit)
	if e.Stderr != "" {
		text += "\nthe end of its standard error:\n  " + indentContinuationLines(e.Stderr)
	}
	return text
}

// startError reports that a plugin did not become ready for calls.
type startError struct {
	plugin         string
	processStarted bool // its process was there
	err            error
}

func (e *startError) Error() string { return fmt.Sprintf("start plugin %s: %v", e.plugin, e.err) }

func (e *startError) Unwrap() error { return e.err }

// simplifyGRPCError replaces a gRPC error by one in plain words for users.
func simplifyGRPCError(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.ResourceExhausted:
		return fmt.Errorf("the message is too large: %s", s.Message())
	case codes.Unimplemented:
		return errors.New("it does not support this part of picoclaw's protocol")
	}
	return errors.New(indentContinuationLines(s.Message()))
}

// indentContinuationLines indents all lines but the first, so that none looks like a message of the host.
func indentContinuationLines(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// InstanceLimitError reports a call that needed another instance while the owner's maximum of instances was in use.
type InstanceLimitError struct {
	Owner        string
	MaxInstances int
	Cause        error // reason to stop waiting
}

func (e *InstanceLimitError) Error() string {
	return fmt.Sprintf("all %d plugin processes of %s are in use: %v", e.MaxInstances, e.Owner, e.Cause)
}

func (e *InstanceLimitError) Unwrap() error { return e.Cause }
