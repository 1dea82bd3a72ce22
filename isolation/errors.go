package isolation

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("isolation is closed and starts no processes")

// UnavailableError means that this machine can't provide the requested isolation. The process is then not started.
type UnavailableError struct {
	Cause string // what is missing or denied
	Cure  string // remedy
	Err   error  // cause; may be nil
}

func (e *UnavailableError) Error() string {
	text := "isolation is not available: " + e.Cause
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ConfigError is a mistake in the configuration.
type ConfigError struct {
	Key     string // such as isolation.expose_paths[0].mode
	Problem string // what is wrong with its value
	Cure    string // what to write instead
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Key, e.Problem, e.Cure)
}

// ProfileError means that a profile can't be turned into a sandbox.
type ProfileError struct {
	Profile string // its name
	Path    string // the path concerned, if any
	Problem string
	Cure    string
}

func (e *ProfileError) Error() string {
	text := "isolation profile " + e.Profile
	if e.Path != "" {
		text += ": " + fmt.Sprintf("%q", e.Path)
	}
	text += " " + e.Problem
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

// SetupError means that the sandbox failed before its program started. bubblewrap wrote the reason to stderr.
type SetupError struct {
	Profile string
	Exit    ExitStatus
	Err     error // an *UnavailableError if no sandbox can be built here
}

func (e *SetupError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("the sandbox of %s ended before its program started (%s); see its standard error", e.Profile,
		e.Exit)
}

// Unwrap returns the reason why this machine can't build sandboxes; nil if it can.
func (e *SetupError) Unwrap() error { return e.Err }

// ExitError is returned by Run if the program fails.
type ExitError struct {
	Exit ExitStatus
}

func (e *ExitError) Error() string {
	if e.Exit.Exceeded != "" {
		return "it was ended: it used " + e.Exit.Exceeded
	}
	return e.Exit.String()
}
